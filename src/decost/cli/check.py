"""`decost check`: whether a plan is feasible."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from decost.cli.reading import Reading, reads
from decost.cli.shared import PlanFile


@reads
def run(
    file: Annotated[Path, typer.Argument(metavar="INSTANCE", help="Instance or set.")],
    solution: PlanFile,
    reading: Reading = Reading(),  # noqa: B008
) -> None:
    """Check a plan: exit 0 feasible, 1 with every violation printed if not, 2 unreadable."""
    from decost.files.door import read_solution, read_solutions
    from decost.problem.checker import check, profit_of

    instances, is_set = reading.read(file)
    if is_set:
        plans = read_solutions(solution, instances)
    else:
        plans = {0: read_solution(solution, instances[0])}
    wrong = 0
    for index, plan in sorted(plans.items()):
        violations = check(instances[index], plan)
        wrong += bool(violations)
        for violation in violations:
            typer.echo(f"instance {index}: {violation}" if is_set else str(violation))
    if is_set:
        missing = len(instances) - len(plans)
        without = f"; {missing} of {len(instances)} instances have no plan" if missing else ""
        typer.echo(f"{len(plans) - wrong} of {len(plans)} plans feasible{without}")
    elif not wrong:
        typer.echo(f"feasible, profit {profit_of(instances[0], plans[0]):.10g}")
    if wrong:
        raise typer.Exit(1)
