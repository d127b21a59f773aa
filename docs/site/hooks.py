"""What the site needs beside the pages of docs/: those of the folder above, and the examples.

Pages are written so that their links work where the source is read; here they lead to the same
files as parts of the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
ABOVE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_LINK = re.compile(r"(\]\()([^)#:]+)(#[^)]*)?(\))")


def on_files(files: Any, config: Any) -> Any:
    """Add pages and examples that are not in docs/."""
    for source, page in ABOVE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_moved(text, ROOT, page)))
    for path in sorted((ROOT / "examples").rglob("*.*")):
        if path.suffix in (".py", ".json", ".csv"):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to files above docs/ lead to where they are in the site."""
    source = page.file.src_uri
    if source in ABOVE.values():
        return markdown
    return _moved(markdown, (ROOT / "docs" / source).parent, source)


def _moved(text: str, folder: Path, page: str) -> str:
    """Change the links of a text that is in a folder for its page of the site."""

    def moved(match: re.Match[str]) -> str:
        before, link, anchor, after = match.groups()
        target = (folder / link).resolve()
        if not target.exists() or not target.is_relative_to(ROOT):
            return match[0]
        name = target.relative_to(ROOT).as_posix()
        if target.is_dir():  # a site has no folders to look into
            return f"{before}{'../' * page.count('/')}{_first(target)}{after}"
        name = ABOVE.get(name, name.removeprefix("docs/"))
        return f"{before}{'../' * page.count('/')}{name}{anchor or ''}{after}"

    return _LINK.sub(moved, text)


def _first(folder: Path) -> str:
    return next(path for path in sorted(folder.glob("*.*"))).relative_to(ROOT).as_posix()
