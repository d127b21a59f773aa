"""`decost solve`: plan the visits of an instance, or of every instance of a set."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decost.cli.options import Fields, SchemaCommand, given_options, own_fields
from decost.cli.outputs import STDOUT, Day, ExplainTime, Outputs, Report, Tiles
from decost.cli.printing import print_plan
from decost.cli.progress import best_so_far
from decost.cli.reading import Reading, reads
from decost.cli.shared import (
    Cluster,
    InputError,
    InstanceFile,
    MethodName,
    end_by_status,
    workers_of,
)
from decost.cli.solve_parts import solve_folder
from decost.cli.solve_set import rows_of, solve_set
from decost.method.options import ImprovingOptions
from decost.planner.door import DEFAULT_METHOD

if TYPE_CHECKING:
    from decost.method.result import Result
    from decost.problem.instance import Instance


class SolveCommand(SchemaCommand):
    """Takes the options of the method as well."""

    def fields_of(self, given: dict[str, Any], rest: list[str]) -> Fields:
        """Ask the method, if there are options that it may know or help on it is wanted."""
        from decost.planner.door import get_method

        wants_help = "help" in given and "method" in given
        if not (wants_help or any(word.startswith("-") for word in rest)):
            return {}
        return own_fields(get_method(given.get("method", DEFAULT_METHOD)).options)


@reads
def run(
    context: typer.Context,
    file: InstanceFile,
    method: MethodName = DEFAULT_METHOD,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best plan so far is returned.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the method's random generator.")] = 0,
    reading: Reading = Reading(),  # noqa: B008
    threads: Annotated[
        int | None,
        typer.Option(help="Of a set, instances to solve at a time (one a core); else for search."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON and nothing else, one line an instance.")
    ] = False,
    start: Annotated[
        Path | None,
        typer.Option(help="Plan to improve, or an order of stops; it is never made worse."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the plan: .json, .ics, .geojson (a set: JSON lines or .parquet; of "
            "Parquet also a folder, part by part); - prints JSON."
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin a set anew, whatever OUT.part holds.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the plan: .png, .pdf or .svg.")] = None,
    report: Report = None,
    tiles: Tiles = None,
    date: Day = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why stops are left out, in 2 s unless told.")
    ] = False,
    explain_time: ExplainTime = None,
    beside: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="Say what this method earns, too, and how fast."),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Plan the visits of an instance, or of every instance of a set.

    Plans of a set are kept in OUT.part as they come, or those of a folder part by part; the same
    command goes on with them.
    Further options of a method are given as --name value, too: decost solve --method M --help
    lists them.
    """
    from decost.files.parts import holds_parts, is_for_parts
    from decost.planner.door import solve

    streets = reading.streets(file)
    outputs = Outputs(
        file=file,
        out=out,
        plot=plot,
        report=report,
        tiles=tiles,
        date=date,
        streets=streets,
        as_json=as_json,
    )
    explain = explain or (explain_time is not None and report is None)
    if out is not None and holds_parts(file) and is_for_parts(out):
        outputs.require_for_a_set()
        _require_for_a_set(file, start, beside, explain=explain)
        told = {"time_limit": time_limit, "seed": seed, "threads": threads}
        told |= given_options(context) | {"vehicles": reading.vehicles_of_parts(file)}
        solve_folder(file, out, method, told, as_json=as_json, restart=restart, cluster=cluster)
        return
    instances, is_set = reading.read(file)
    if out == STDOUT and is_set:
        out, as_json = None, True
        outputs = replace(outputs, out=out, as_json=as_json)
    outputs.require(None if is_set else instances[0])
    if is_set:
        _require_for_a_set(file, start, beside, explain=explain)
    elif cluster is not None:
        raise InputError(f"--cluster {cluster}: is for sets, and {file} holds one instance")
    if restart and not (is_set and out is not None):
        raise InputError("--restart: is for a set with --out")
    told = {"time_limit": time_limit, "threads": None if is_set else threads}
    options: dict[str, Any] = {name: one for name, one in told.items() if one is not None}
    options |= given_options(context) | {"seed": seed}
    if is_set:
        with (
            workers_of(cluster) as found,
            rows_of(out, instances, method, options, file, restart) as rows,
        ):
            executor = None if found is None else found.executor
            options |= {"threads": threads}
            solve_set(rows, instances, method, options, as_json, out, executor)
        return
    if start is not None:
        options["start"] = _read_start(start, method, instances[0])
    with best_so_far(method) as watched:
        result = solve(instances[0], method, **options, **watched)
    if beside is not None:
        outputs = replace(outputs, remark=_compared(result, beside, seed))
    _show(result, outputs, as_json, explain, explain_time)
    end_by_status([result.status])


def _compared(result: Result, method: str, seed: int) -> str:
    """Say what another method earns of the same, and in which time when all is loaded."""
    from decost.planner.door import get_method, solve

    with best_so_far(method) as watched:
        for _ in range(2):  # the first plan also compiles and loads what the second is made with
            other = solve(result.instance, method, seed=seed, **watched)
    told = f"{other.profit:.6g} by {method} in {1000 * other.runtime:.1f} ms"
    if result.profit > 0.0:
        share = f"{100 * other.profit / result.profit:.1f}%"
        proven = "the most that is possible" if result.status == "optimal" else "this plan"
        told += f", {share} of {proven}"
    what = get_method(method).description.partition(":")[2].strip().rstrip(".")
    return f"{told} ({what})" if what else told


def _show(
    result: Result, outputs: Outputs, as_json: bool, explain: bool, seconds: float | None
) -> None:
    """Print a plan, and write what is wanted of it: what is ready first."""
    outputs.write_plan(result)
    if not as_json and not outputs.printed:
        print_plan(result)
        if outputs.remark:
            typer.echo(outputs.remark)
    explanation = outputs.explain(result, seconds) if explain or outputs.report else None
    outputs.write_report(result, explanation)
    if as_json:
        told = {"explanation": explanation.to_dict()} if explain and explanation else {}
        typer.echo(json.dumps(result.to_dict() | told))
    else:
        if explain:
            typer.echo(f"\n{explanation}", err=outputs.printed)
        outputs.tell()


def _require_for_a_set(
    file: Path, start: Path | None, beside: str | None, *, explain: bool
) -> None:
    if beside is not None:
        raise InputError(f"--beside {beside}: {file} holds a set; it is for one instance")
    if explain:
        raise InputError(
            f"--explain: {file} holds a set, and has no place for it; explain a single plan"
        )
    if start is not None:
        raise InputError(f"--start {start}: {file} holds a set; a start is for one instance")


def _read_start(path: Path, method: str, instance: Instance) -> Any:
    from decost.files.orders import read_start
    from decost.planner.door import get_method, list_methods

    if not issubclass(get_method(method).options, ImprovingOptions):
        able = [one.name for one in list_methods() if issubclass(one.options, ImprovingOptions)]
        raise InputError(
            f"--start {path}: {method} does not improve a plan; these do: {', '.join(able)}"
        )
    return read_start(path, instance)
