"""Writing files so that a failure never costs what was there before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of `path` on success.

    On an error the temporary file is removed and whatever was at `path` stays as it was.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written, or `path` is a folder.
    """
    target = Path(path).resolve()
    require_writable(path)
    if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
        yield target
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(path: str | Path) -> None:
    """Raise an OSError now if `path` could not be written later."""
    target = Path(path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"{path}: is a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {Path(path).parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise PermissionError(f"{path}: cannot be written")
    if target.is_file() and not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: nothing can be written in its folder")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
