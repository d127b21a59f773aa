"""Compiled loops over plain arrays; nothing here knows Python objects."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha1
from pathlib import Path


def cache_folders(folder: Path) -> list[Path]:
    """List where numba may keep the compiled code of a folder of kernels."""
    folders = [folder / "__pycache__"]
    central = os.environ.get("NUMBA_CACHE_DIR")
    if central:  # there, numba has a folder for every folder of sources
        place = os.path.abspath(folder)  # noqa: PTH100 (numba hashes this, links and all)
        folders.append(Path(central) / f"{folder.name}_{sha1(place.encode()).hexdigest()}")
    return folders


def drop_stale_code(*folders: Path) -> None:
    """Remove compiled code of some folders of kernels that is older than any source there.

    Numba compiles a kernel anew when its own file changes, but not when another kernel that it
    calls does.
    """
    newest = max(source.stat().st_mtime for folder in folders for source in folder.glob("*.py"))
    for cache in (cache for folder in folders for cache in cache_folders(folder)):
        for compiled in cache.glob("*.nb[ci]"):
            with suppress(OSError):
                if compiled.stat().st_mtime < newest:
                    compiled.unlink()


drop_stale_code(Path(__file__).parent)
