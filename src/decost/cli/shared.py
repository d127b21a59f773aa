"""What commands share: arguments that mean the same everywhere, and what they require of files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from decost.method.summary import Summary
    from decost.problem.instance import Instance

InstanceFile = Annotated[
    Path,
    typer.Argument(
        help="Instance: JSON, table of places, Solomon, KU Leuven or OPLib file; set: .npz, "
        ".jsonl, Parquet or a folder of it."
    ),
]
PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="Plan, as `decost solve --out` writes it.")
]


def _methods_beginning_with(incomplete: str) -> list[str]:
    from decost.planner.door import method_names

    return [name for name in method_names() if name.startswith(incomplete)]


MethodName = Annotated[
    str,
    typer.Option(help="Method; see `decost methods`.", autocompletion=_methods_beginning_with),
]


SIGNALS: list[int] = []
"""What has asked this process to end, in the order of its coming; see `decost.cli.program`."""


Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="local:N|ADDRESS",
        help="Workers: so many processes here, or a Dask scheduler's as tcp://host:8786.",
    ),
]


class InputError(Exception):
    """Bad input, in one line."""


@contextmanager
def workers_of(cluster: str | None) -> Iterator[Any]:
    """Give the workers of a cluster, if one is wanted, and say where they can be watched."""
    if cluster is None:
        yield None
        return
    from decost.cluster.connection import connect

    def waiting() -> None:
        typer.echo(f"decost: {cluster} has no workers yet; waiting for the first", err=True)

    with connect(cluster, waiting=waiting) as found:
        count = f"{found.workers} worker{'s' * (found.workers != 1)}"
        typer.echo(f"decost: {count}, watch them at {found.dashboard}", err=True)
        yield found


def end_by_status(statuses: Iterable[str]) -> None:
    """End with exit code 1 if a plan leaves required stops out."""
    if not {"incomplete", "infeasible"}.isdisjoint(statuses):
        raise typer.Exit(1)


def end_of_set(summary: Summary) -> None:
    """Say how many plans of a set leave required stops out, or are missing; end by that."""
    from decost.cli.printing import shown

    whole = summary.instances
    if summary.short:
        how_many = f"{summary.short} of {whole} plans leave required stops out"
        typer.echo(f"decost: {how_many}; {summary.first_short}", err=True)
    if summary.failed:
        how_many = f"{summary.failed} of {whole} instances failed"
        typer.echo(f"decost: {how_many}; {shown(summary.first_failed)}", err=True)
    if summary.short or summary.failed:
        raise typer.Exit(1)


def labels(instance: Instance, field: str, words: str) -> list[str | int]:
    """Read the labels of stops, with commas between them."""
    ids = instance.ids
    if ids is not None and words in ids:
        return [words]
    found: list[str | int] = []
    for word in (part.strip() for part in words.split(",")):
        if ids is None and re.fullmatch(r"\d{1,9}", word, re.ASCII):
            found.append(int(word))
        elif ids is not None and word in ids:
            found.append(word)
        else:
            raise InputError(f"{field} {words}: stop = {word!r}: the instance has no such stop")
    return found


def require_other(path: Path, file: Path) -> None:
    """Refuse an output that would take the place of the instance."""
    if path.is_file() and path.samefile(file):
        raise InputError(f"{path}: is the instance itself, and would be lost")


def require_picture(path: Path) -> None:
    """Refuse an ending that is none of a picture."""
    from decost.show.page import FORMATS

    *some, last = (f".{ending}" for ending in FORMATS)
    if path.suffix.lower() not in (*some, last):
        raise InputError(f"{path}: a picture must end in {', '.join(some)} or {last}")


def draw(instance: Instance, solution: Any, path: Path, ways: Any = None, remark: str = "") -> None:
    """Draw a plan to a file."""
    from decost.show.page import save_figure
    from decost.show.plan import plot_plan

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        save_figure(plot_plan(instance, solution, ways=ways, remark=remark), path)
    for words in dict.fromkeys(str(one.message) for one in said):
        typer.echo(f"decost: {words}", err=True)
