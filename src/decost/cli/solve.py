"""`decost solve`: plan the visits of an instance, or of every instance of a set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decost.cli.options import Fields, SchemaCommand, given_options, own_fields
from decost.cli.printing import print_plan
from decost.cli.progress import best_so_far
from decost.cli.shared import (
    InputError,
    InstanceFile,
    Profit,
    Truncate,
    Vehicles,
    draw,
    end_by_status,
    read_file,
    require_other,
    require_picture,
)
from decost.cli.solve_set import rows_of, solve_set
from decost.method.options import ImprovingOptions
from decost.planner.door import DEFAULT_METHOD

if TYPE_CHECKING:
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


def run(
    context: typer.Context,
    file: InstanceFile,
    method: Annotated[str, typer.Option(help="Method; see `decost methods`.")] = DEFAULT_METHOD,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best plan so far is returned.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the method's random generator.")] = 0,
    vehicles: Vehicles = None,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
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
    out: Annotated[Path | None, typer.Option(help="Write the plan (a set: JSON lines).")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin a set anew, whatever OUT.part holds.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the plan: .png, .pdf or .svg.")] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say why stops are left out, in as much time again (a minute unless told).",
        ),
    ] = False,
) -> None:
    """Plan the visits of an instance, or of every instance of a set.

    Plans of a set are kept in OUT.part as they come; the same command goes on with them.
    Further options of a method are given as --name value, too: decost solve --method M --help
    lists them.
    """
    instances, is_set = read_file(file, profit, truncate, vehicles)
    _require_outputs(file, out, plot)
    if is_set:
        _require_for_a_set(file, plot, start, explain=explain)
    if restart and not (is_set and out is not None):
        raise InputError("--restart: is for a set with --out")
    if explain and as_json:
        raise InputError("--explain: --json has no place for it; explain a single plan")
    told = {"time_limit": time_limit, "threads": None if is_set else threads}
    options = {name: value for name, value in told.items() if value is not None}
    options |= given_options(context) | {"seed": seed}
    if is_set:
        with rows_of(out, instances, method, options, file, restart) as rows:
            solve_set(rows, instances, method, options | {"threads": threads}, as_json, out)
        return
    if start is not None:
        options["start"] = _read_start(start, method, instances[0])
    result = _solve_and_write(instances[0], method, options, out, plot)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        print_plan(result)
        if explain:
            typer.echo(f"\n{result.explain(time_limit=time_limit)}")
        for path in (out, plot):
            if path is not None:
                typer.echo(f"wrote {path}")
    end_by_status([result.status])


def _require_outputs(file: Path, out: Path | None, plot: Path | None) -> None:
    from decost.files.writing import linked, require_writable

    for path in (out, plot):
        if path is not None:
            require_writable(path)
            require_other(path, file)
    if plot is not None:
        if out is not None and linked(out) == linked(plot):
            raise InputError(f"--out {out}, --plot {plot}: one would overwrite the other")
        require_picture(plot)


def _require_for_a_set(file: Path, plot: Path | None, start: Path | None, *, explain: bool) -> None:
    if plot is not None:
        raise InputError(f"--plot {plot}: {file} holds a set; only a single plan can be drawn")
    if explain:
        raise InputError(
            f"--explain: {file} holds a set, and has no place for it; explain a single plan"
        )
    if start is not None:
        raise InputError(f"--start {start}: {file} holds a set; a start is for one instance")


def _solve_and_write(
    instance: Instance,
    method: str,
    options: dict[str, Any],
    out: Path | None,
    plot: Path | None,
) -> Any:
    from decost.files.door import write
    from decost.planner.door import solve

    with best_so_far(method) as watched:
        result = solve(instance, method, **options, **watched)
    if out is not None:
        write(result, out)
    if plot is not None:
        draw(result.instance, result.solution, plot)
    return result


def _read_start(path: Path, method: str, instance: Instance) -> Any:
    from decost.files.orders import read_start
    from decost.planner.door import get_method, list_methods

    if not issubclass(get_method(method).options, ImprovingOptions):
        able = [one.name for one in list_methods() if issubclass(one.options, ImprovingOptions)]
        raise InputError(
            f"--start {path}: {method} does not improve a plan; these do: {', '.join(able)}"
        )
    return read_start(path, instance)
