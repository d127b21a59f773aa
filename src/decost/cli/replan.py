"""`decost replan`: the rest of a plan, made anew while it is being carried out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from decost.cli.options import given_options
from decost.cli.outputs import Day, ExplainTime, Outputs, Report, Tiles
from decost.cli.printing import print_plan
from decost.cli.progress import best_so_far
from decost.cli.reading import Reading, reads
from decost.cli.shared import (
    InputError,
    MethodName,
    PlanFile,
    end_by_status,
    labels,
)
from decost.planner.door import DEFAULT_METHOD


@reads
def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="INSTANCE", help="Instance.")],
    plan: PlanFile,
    now: Annotated[str, typer.Option(help="The time; with unit minutes also as 12:30.")],
    done: Annotated[
        list[str] | None, typer.Option(help="Stops, a,b,c, that were done outside of the plan.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Stops, a,b,c, that fell away.")] = None,
    add: Annotated[Path | None, typer.Option(help="JSON with new stops.")] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Keep the route (new times alone), the order (others may come between), or "
            "every stop that is visited.",
            metavar="route|order|stop",
        ),
    ] = None,
    method: MethodName = DEFAULT_METHOD,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best plan so far is returned.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the method's random generator.")] = 0,
    reading: Reading = Reading(),  # noqa: B008
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the whole plan: .json, .ics, .geojson.")
    ] = None,
    report: Report = None,
    tiles: Tiles = None,
    date: Day = None,
    explain_time: ExplainTime = None,
    out_instance: Annotated[
        Path | None, typer.Option(help="Write the instance, with what is new.")
    ] = None,
) -> None:
    """Make the rest of a plan anew; visits that have begun stay as they are.

    The answer is a whole plan, past and future. Further options of a method are given as
    --name value, too.
    """
    from decost.files.door import read_solution, write
    from decost.files.json import read_json
    from decost.files.records import stops_of
    from decost.files.writing import linked, require_writable
    from decost.planner.replanning import replan

    instance = reading.read_one(file, "a plan is for one instance")
    streets = reading.streets(file)
    outputs = Outputs(
        file=file,
        out=out,
        report=report,
        tiles=tiles,
        date=date,
        streets=streets,
        as_json=as_json,
    )
    outputs.require(instance)
    if out_instance is not None:
        require_writable(out_instance)
        for option, path in outputs.paths.items():
            if linked(path) == linked(out_instance):
                raise InputError(f"{option} {path}, --out-instance: one would overwrite the other")
    given: dict[str, Any] = {
        "done": [stop for words in done or () for stop in labels(instance, "--done", words)],
        "drop": [stop for words in drop or () for stop in labels(instance, "--drop", words)],
        "add": None if add is None else stops_of(add, read_json(add)),
        "keep": keep,
        "method": method,
        "seed": seed,
    }
    if time_limit is not None:
        given["time_limit"] = time_limit
    given |= given_options(context)
    old = read_solution(plan, instance)
    with best_so_far(method) as watched:
        result = replan(instance, old, _time(now), **given, **watched)
    outputs.write_plan(result)
    if out_instance is not None:
        write(result.instance, out_instance)
    if report is not None:
        outputs.write_report(result, outputs.explain(result, explain_time))
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        if not outputs.printed:
            print_plan(result)
        outputs.tell()
        if out_instance is not None:
            typer.echo(f"wrote {out_instance}", err=outputs.printed)
    end_by_status([result.status])


def _time(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word
