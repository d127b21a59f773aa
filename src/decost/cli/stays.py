"""`decost stays`: the best times for an order of stops by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decost.cli.outputs import Outputs
from decost.cli.printing import print_plan, shown
from decost.cli.reading import Reading, reads
from decost.cli.shared import (
    InputError,
    InstanceFile,
    end_by_status,
    labels,
)

if TYPE_CHECKING:
    from decost.problem.instance import Instance


@reads
def run(
    file: InstanceFile,
    order: Annotated[
        list[str] | None,
        typer.Option(help="Stops in order, a,b,c; of several vehicles NAME:a,b,c for each."),
    ] = None,
    order_file: Annotated[
        Path | None, typer.Option(help="JSON with lists of stops by vehicle; or a plan.")
    ] = None,
    reading: Reading = Reading(),  # noqa: B008
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the plan.")] = None,
) -> None:
    """Set the best stays, and choose alternatives, for an order of stops; exit 1 if it breaks."""
    from decost.method.value import judged
    from decost.planner.orders import OrderError, first_break, stop_numbers
    from decost.planner.requirements import with_reasons
    from decost.timeline.routes import solution_for

    instance = reading.read_one(file, "an order is for one instance")
    if (order is None) == (order_file is None):
        raise InputError("--order, --order-file: give one of them")
    outputs = Outputs(file, out=out, as_json=as_json)
    outputs.require(instance)
    given, where = _given(instance, order or [], order_file)
    try:
        numbers = stop_numbers(instance, given)
    except OrderError as error:
        raise InputError(f"{where}: {error}") from None
    broken = first_break(instance, numbers)
    if broken is not None:
        if as_json:
            found = {
                "vehicle": instance.fleet[broken.vehicle].id,
                "position": broken.position,
                "stop": instance.label(broken.stop),
                "why": broken.why,
            }
            typer.echo(json.dumps({"status": "broken", "broken": found}))
        else:
            typer.echo(shown(broken.in_words(instance)))
        raise typer.Exit(1)
    result = replace(judged(instance, solution_for(instance, numbers)), method="stays")
    if instance.required.any():
        result = with_reasons(result)
    outputs.write_plan(result)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        if not outputs.printed:
            print_plan(result)
        outputs.tell()
    end_by_status([result.status])


def _given(instance: Instance, words: list[str], path: Path | None) -> tuple[Any, str]:
    """Give the orders, and where they come from."""
    if path is not None:
        from decost.files.orders import read_orders

        return read_orders(path), str(path)
    orders: dict[str, list[str | int]] = {}
    for word in words:
        name, stops = _split(instance, word)
        if name in orders:
            raise InputError(f"--order {word}: vehicle = {name!r}: has an order already")
        orders[name] = labels(instance, "--order", stops) if stops else []
    return orders, "--order"


def _split(instance: Instance, word: str) -> tuple[str, str]:
    """Take the vehicle from the beginning of an order; if there is only one, it may be missing."""
    names = [one.id for one in instance.fleet if word.startswith(f"{one.id}:")]
    if names:
        name = max(names, key=len)
        return name, word.removeprefix(f"{name}:")
    name, colon, _ = word.partition(":")
    known = ", ".join(one.id for one in instance.fleet[:10])
    if instance.vehicles == 1 and (not colon or word.split(",")[0] in (instance.ids or ())):
        return instance.fleet[0].id, word
    if colon:
        raise InputError(f"--order {word}: vehicle = {name!r}: unknown, choose from: {known}")
    raise InputError(f"--order {word}: must begin with a vehicle and a colon: {known}")
