"""How kernels are compiled: numba's settings, records, and the care for stale code."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np
import numpy.typing as npt

Halt: TypeAlias = npt.NDArray[np.uint8]
"""One entry that is set, by another thread, when a kernel is to return."""

Records: TypeAlias = Any
"""An array of records: in a kernel `records[k].field`, elsewhere `records["field"]`."""

Function = TypeVar("Function", bound=Callable[..., object])

jit = numba.njit(cache=True, nogil=True, error_model="numpy")

# For a function that is called in a hot loop with many arrays, which are costly to pass.
inlined = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


def lean(function: Function) -> Function:
    """Compile a function that makes no arrays, without the counting of references.

    Counting costs more than all the rest of a short function that is handed many arrays.
    """
    settings: dict[str, Any] = {"_nrt": False}
    compiled: Function = numba.njit(cache=True, nogil=True, error_model="numpy", **settings)(
        function
    )
    return compiled


def _as_they_are(array: Records) -> Records:
    return array


def _with_fields(array: Records) -> Records:
    return array.view(np.recarray)


DISABLED = bool(getattr(numba.config, "DISABLE_JIT", 0))
"""Whether kernels are not compiled at all."""

as_records: Any = _with_fields if DISABLED else jit(_as_they_are)
"""Let the rows of a structured array have fields, which only kernels that are compiled see."""


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
    sources = [source for folder in folders for source in folder.glob("*.py")]
    newest = max(source.stat().st_mtime for source in sources)
    for cache in (cache for folder in folders for cache in cache_folders(folder)):
        for compiled in cache.glob("*.nb[ci]"):
            with suppress(OSError):
                if compiled.stat().st_mtime < newest:
                    compiled.unlink()


ROOMS = ("timeline", "exact", "search", "baselines", "inference", "learn")
"""Folders of the package that hold kernels."""

drop_stale_code(*(Path(__file__).parent / room for room in ROOMS))
