"""The paper's tables and figures, and claims of our own, one file each: `decost bench NAME`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decost.bench.schema import Bench

NAMES = (
    *("main", "gaps", "ablation", "solomon", "ils-time", "team", "sensitivity", "stay-ratio"),
    *("ptar", "scaling", "methods", "rivals", "peers", "op", "optw", "teams", "plug", "stays"),
    *("learning", "people", "general", "trips", "cold-start", "time-profit", "cards", "curves"),
)
"""All of them, in the order in which `decost bench all` runs them."""


class BenchError(ValueError):
    """A bench cannot be run as asked, or found what must not be."""


def get_bench(name: str) -> Bench[Any]:
    """Look one up by its name.

    Raises
    ------
    BenchError
        If there is none of this name.
    """
    if name not in NAMES:
        raise BenchError(f"bench {name!r}: unknown, choose from: {', '.join(('all', *NAMES))}")
    bench: Bench[Any] = import_module(f"{__name__}.{name.replace('-', '_')}").BENCH
    return bench


def list_benches() -> tuple[Bench[Any], ...]:
    """All of them, in the order in which they are run together."""
    return tuple(get_bench(name) for name in NAMES)
