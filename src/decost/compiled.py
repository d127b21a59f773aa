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

KNOWN = ((0, 68),)
"""Versions of numba whose internals `decost.quick_compiling` knows."""

ROOMS = ("problem", "timeline", "exact", "search", "baselines", "inference", "learn")
"""Folders of the package that hold kernels, or constants and records that these know."""

Function = TypeVar("Function", bound=Callable[..., object])

# Whether sums may be reordered is said in any case: else it is inherited from who calls first.
_SETTINGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
_QUICK = numba.version_info.short in KNOWN

DISABLED = bool(getattr(numba.config, "DISABLE_JIT", 0))
"""Whether kernels are not compiled at all."""


def compile_with(function: Function, **settings: Any) -> Function:
    """Compile a function by some settings of numba's.

    By its internals, if they are known; else in numba's own way, which takes twice as long.
    """
    if DISABLED:
        return function
    if not _QUICK:
        plain: Function = numba.njit(cache=True, **_SETTINGS | settings)(function)
        return plain
    from decost.quick_compiling import Kernel

    quick: Any = Kernel(function, **_SETTINGS | settings)
    return quick  # type: ignore[no-any-return]


def jit(function: Function) -> Function:
    """Compile a function that makes arrays."""
    return compile_with(function)


def lean(function: Function) -> Function:
    """Compile a function that makes no arrays, without the counting of references.

    Counting costs more than all the rest of a short function that is handed many arrays.
    """
    return compile_with(function, _nrt=False)


def inlined(function: Function) -> Function:
    """Compile a function that is called in a hot loop with many arrays, costly to pass."""
    return compile_with(function, inline="always")


def _as_they_are(array: Records) -> Records:
    return array


def _with_fields(array: Records) -> Records:
    return array.view(np.recarray)


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


if not _QUICK:  # else code is kept by the content of all sources
    drop_stale_code(*(Path(__file__).parent / room for room in ROOMS))
