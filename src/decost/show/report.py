"""A plan as one HTML file that needs no network."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from decost import __version__
from decost.files.limits import FormatError
from decost.files.writing import write_text
from decost.method.result import Result
from decost.problem.instance import Instance
from decost.problem.names import stop_name, time_text
from decost.problem.plan import Ways
from decost.show.scene import scene_of

MODULES = ("dom", "words", "hub", "tip", "map", "schedule", "timetable", "leftout", "report")
"""Of `web/`, each after those that it imports."""

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)


def write_report(
    result: Result,
    path: str | os.PathLike[str],
    *,
    explanation: Mapping[str, Any] | None = None,
    tiles: str | None = None,
    ways: Ways | None = None,
) -> None:
    """Write a result as a page: map, schedule, timetables, what was left out and why.

    Parameters
    ----------
    result
        The plan and what is known about it.
    path
        Where to, as .html.
    explanation
        What `Explanation.to_dict` says of it; without it no reasons are shown.
    tiles
        Address of a background map with {z}, {x} and {y}, for places with latitude and longitude.
        It is the only address that the page asks, and without it, it asks none.
    ways
        Ways along streets; without them they are straight lines.

    Raises
    ------
    FormatError
        If the path does not end in .html, or tiles cannot be used.
    """
    require_report(result.instance, path, tiles)
    write_text(os.fspath(path), page_of(result, explanation, tiles, ways))


def require_report(
    instance: Instance, path: str | os.PathLike[str], tiles: str | None = None
) -> None:
    """Refuse what `write_report` would refuse, before any work is done."""
    if not os.fspath(path).lower().endswith((".html", ".htm")):
        raise FormatError(f"{os.fspath(path)}: a report must end in .html")
    if tiles is not None:
        _require_tiles(tiles)
        if not instance.geographic:
            raise FormatError(f"tiles = {tiles!r}: are for places with lat and lon")


def _require_tiles(tiles: str) -> None:
    try:
        parts = urlsplit(tiles)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname)
        plain = plain and re.fullmatch(r"[\w.:\[\]-]+", parts.netloc, re.ASCII) is not None
    except ValueError:
        plain = False
    if not plain or not all(field in tiles for field in ("{z}", "{x}", "{y}")):
        raise FormatError(
            f"tiles = {tiles!r}: must be an address with {{z}}, {{x}} and {{y}}, "
            "such as https://tiles.example/{z}/{x}/{y}.png"
        )


def page_of(
    result: Result,
    explanation: Mapping[str, Any] | None,
    tiles: str | None,
    ways: Ways | None = None,
) -> str:
    """Give the page as text."""
    scene = scene_of(result, explanation, ways) | {"tiles": tiles, "version": __version__}
    style, script = _part("page.css"), _script()
    images = ""
    if tiles is not None:
        parts = urlsplit(tiles)
        images = f"; img-src {parts.scheme}://{parts.netloc}"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'"
        f"{images}; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(result.instance.name or "Plan")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="strict-origin">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<main id="page"></main>\n<noscript>\n{_plain(result)}</noscript>\n'
        f'<script type="application/json" id="scene">{_data(scene)}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def _part(name: str) -> str:
    return files("decost.show").joinpath("web", name).read_text(encoding="utf-8")


def _script() -> str:
    """Join the modules into one: their names are distinct, so that nothing else has to change."""
    parts = (_IMPORT.sub("", _part(f"{name}.js")) for name in MODULES)
    return "\n".join(_EXPORT.sub("", part) for part in parts)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _data(scene: Mapping[str, Any]) -> str:
    """Write data so that no name in it can end the element that holds it."""
    text = json.dumps(scene, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _plain(result: Result) -> str:
    """Give the timetables without any drawing, for readers that run no scripts."""
    instance = result.instance
    parts = [f"<h1>{html.escape(instance.name or 'Plan')}</h1>"]
    for vehicle, route in enumerate(result.solution.routes):
        if route.visits:
            name = instance.fleet[min(vehicle, instance.vehicles - 1)].id
            rows = "".join(
                f"<li>{time_text(instance, visit.start)} to {time_text(instance, visit.leave)} "
                f"{html.escape(stop_name(instance, visit.stop))}</li>"
                for visit in route.visits
            )
            parts.append(f"<h2>{html.escape(name)}</h2><ol>{rows}</ol>")
    return "\n".join(parts) + "\n"
