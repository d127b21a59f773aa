"""Where the machine code of kernels is kept: in files that are named by all that it depends on."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import NamedTemporaryFile
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from decost.compiled import ROOMS
from decost.compiling import compiled, expect

PACKAGE = Path(__file__).parent

FOLDERS = (".", *ROOMS)
"""Folders of the package that hold kernels, or say how they are compiled."""

CARRIED = PACKAGE / "kernels"
"""Machine code that comes with the package, for any computer of a platform."""

GENERIC = ("generic", "")
"""The processor that carried code is for, and its features."""

GENERATIONS = 3
"""States of the sources of which machine code is kept."""


@cache
def stamp() -> str:
    """Digest the sources of all kernels: each may call any other, and becomes a part of it."""
    digest = sha256()
    for folder in FOLDERS:
        for source in sorted((PACKAGE / folder).glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def folders() -> list[Path]:
    """List where code may be kept, the best place first."""
    central = os.environ.get("NUMBA_CACHE_DIR")
    if central:
        return [Path(central) / "decost"]
    user = Path(AppDirs(appname="decost", appauthor=False).user_cache_dir)
    return [PACKAGE / "__pycache__" / "kernels", user / "kernels"]


class KernelCache:
    """The machine code of one kernel, by the types that it is called with.

    It has the methods of numba's own caches, which would look at the source of this kernel alone,
    and not at those of others that have become parts of it. `missing` counts the kernels that are
    to be compiled if there is no code.
    """

    def __init__(self, function: Callable[..., object], missing: Callable[[], int]) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}".removeprefix("decost.")
        self._missing = missing

    @property
    def cache_path(self) -> str:
        """Where code is kept."""
        return str(folders()[0])

    def load_overload(self, signature: Any, context: Any) -> CompileResult | None:
        """Give the code for some types, if there is any."""
        context.refresh()
        for path in self._places(signature, context.codegen()):
            with suppress(Exception):  # whatever is wrong with it, it can be compiled
                return CompileResult._rebuild(context, *pickle.loads(path.read_bytes()))
        expect(self._name, self._missing())
        return None

    def save_overload(self, signature: Any, code: CompileResult) -> None:
        """Keep some code, if there is a place for it."""
        compiled(self._name, last=True)
        data = dumps(code._reduce())
        name = self._file(signature, code.codegen.magic_tuple())
        for folder in folders():
            with suppress(OSError):
                _write(folder / stamp() / name, data)
                return

    def _places(self, signature: Any, codegen: Any) -> Iterator[Path]:
        magic = codegen.magic_tuple()
        for folder in folders():
            yield folder / stamp() / self._file(signature, magic)
        if os.environ.get("DECOST_KERNELS") != "compile":
            yield CARRIED / stamp() / self._file(signature, (magic[0], *GENERIC))

    def _file(self, signature: Any, magic: tuple[str, str, str]) -> str:
        config: Any = numba.config
        settings = (config.BOUNDSCHECK, config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
        key = (numba.__version__, sys.version_info[:2], magic, settings, *map(str, signature))
        return f"{self._name}-{sha256(repr(key).encode()).hexdigest()[:16]}"


def _write(path: Path, data: bytes) -> None:
    """Write a file at once; the first of a new state of the sources makes room for it."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        others = sorted(path.parent.parent.iterdir(), key=lambda one: one.stat().st_mtime)
        for old in others[:-GENERATIONS]:
            rmtree(old, ignore_errors=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(data)
            file.close()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
