"""Compiled loops over plain arrays; nothing here knows Python objects."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def drop_stale_code(folder: Path) -> None:
    """Remove compiled code from a folder of kernels that is older than any source there.

    Numba compiles a kernel anew when its own file changes, but not when another kernel that it
    calls does.
    """
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for compiled in (folder / "__pycache__").glob("*.nb[ci]"):
        with suppress(OSError):
            if compiled.stat().st_mtime < newest:
                compiled.unlink()


drop_stale_code(Path(__file__).parent)
