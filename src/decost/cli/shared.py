"""What commands share: arguments that mean the same everywhere, and what they require of files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from decost.problem.instance import Instance

InstanceFile = Annotated[
    Path,
    typer.Argument(
        help="Instance: JSON, table of places, Solomon or KU Leuven file; set: .npz or .jsonl."
    ),
]
PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="Plan, as `decost solve --out` writes it.")
]


class InputError(Exception):
    """Bad input, in one line."""


def end_by_status(statuses: Iterable[str]) -> None:
    """End with exit code 1 if a plan leaves required stops out."""
    if not {"incomplete", "infeasible"}.isdisjoint(statuses):
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


def draw(instance: Instance, solution: Any, path: Path) -> None:
    """Draw a plan to a file."""
    from decost.show.page import save_figure
    from decost.show.plan import plot_plan

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        save_figure(plot_plan(instance, solution), path)
    for words in dict.fromkeys(str(one.message) for one in said):
        typer.echo(f"decost: {words}", err=True)
