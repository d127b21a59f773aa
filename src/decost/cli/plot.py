"""`decost plot`: a picture of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from decost.cli.reading import Reading, reads
from decost.cli.shared import (
    InputError,
    PlanFile,
    draw,
    require_picture,
)


@reads
def run(
    file: Annotated[Path, typer.Argument(metavar="INSTANCE", help="Instance.")],
    solution: PlanFile,
    out: Annotated[Path, typer.Option(help=".png, .pdf or .svg.")],
    reading: Reading = Reading(),  # noqa: B008
) -> None:
    """Draw a plan: the route on a map and the timeline."""
    from decost.files.door import read_solution
    from decost.problem.checker import check

    require_picture(out)
    instances, is_set = reading.read(file)
    if is_set:
        raise InputError(f"{file}: holds a set; only a single plan can be drawn")
    plan = read_solution(solution, instances[0])
    draw(instances[0], plan, out)
    typer.echo(f"wrote {out}")
    broken = len(check(instances[0], plan))
    if broken:
        rules = "a rule" if broken == 1 else f"{broken} rules"
        typer.echo(f"decost: the plan breaks {rules}; see decost check", err=True)
