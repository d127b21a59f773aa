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
    out: Annotated[Path, typer.Option(help=".png, .pdf or .svg; or .html for a report.")],
    reading: Reading = Reading(),  # noqa: B008
) -> None:
    """Draw a plan: the route on a map and the timeline, or all of it on a page."""
    from decost.files.door import read_solution
    from decost.method.value import judged
    from decost.problem.checker import check
    from decost.show.report import write_report

    is_page = out.suffix.lower() == ".html"
    if not is_page:
        require_picture(out)
    instances, is_set = reading.read(file)
    if is_set:
        raise InputError(f"{file}: holds a set; only a single plan can be drawn")
    plan = read_solution(solution, instances[0])
    rules = [one.rule for one in check(instances[0], plan)]
    result = judged(instances[0], plan)
    streets = reading.streets(file)
    ways = None if streets is None else streets.ways(instances[0], plan)
    if not is_page:
        draw(instances[0], plan, out, ways)
    elif set(rules) - {"required"}:  # there is nothing to explain of it
        write_report(result, out, ways=ways)
    else:
        result.report(out, ways=ways)
    typer.echo(f"wrote {out}")
    if rules:
        count = "a rule" if len(rules) == 1 else f"{len(rules)} rules"
        typer.echo(f"decost: the plan breaks {count}; see decost check", err=True)
