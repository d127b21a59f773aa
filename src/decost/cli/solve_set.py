"""The part of `decost solve` that is for sets: lines as they come, and a run that goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from decost.cli.printing import print_set
from decost.cli.progress import set_progress
from decost.cli.shared import InputError, end_of_set, require_other

if TYPE_CHECKING:
    from decost.files.sets import Rows
    from decost.problem.instance import Instance


@contextmanager
def rows_of(
    out: Path | None,
    instances: list[Instance],
    method: str,
    options: dict[str, Any],
    file: Path,
    restart: bool,
) -> Iterator[Rows]:
    """Give what is finished of a set already, and the place for more."""
    from decost.files.sets import Rows, open_part
    from decost.files.writing import is_special, part_of
    from decost.planner.door import get_method, read_options

    settings = read_options(get_method(method), options)
    if out is None or is_special(out):
        yield Rows()
        return
    require_other(part_of(out), file)
    with open_part(out, instances, method, settings, restart=restart) as part:
        whole = len(instances)
        if len(part):
            typer.echo(f"decost: going on with {len(part)} of {whole} plans", err=True)
        try:
            yield part
        except KeyboardInterrupt:
            kept = f"{len(part)} of {whole} plans are kept in {part.path}"
            typer.echo(f"decost: {kept}; the same command goes on", err=True)
            raise


def solve_set(
    rows: Rows,
    instances: list[Instance],
    method: str,
    options: dict[str, Any],
    as_json: bool,
    out: Path | None,
    executor: Executor | None,
) -> None:
    """Solve what is not finished yet, here or by others, and show the lines in order."""
    from decost.files.sets import PartFile
    from decost.method.summary import Summary
    from decost.planner.door import solve_as_done

    open_ones = [index for index in range(len(instances)) if index not in rows]
    some = [instances[index] for index in open_ones]
    finished = solve_as_done(some, method, executor=executor, **options)
    with _lines_to(None if isinstance(rows, PartFile) else out, as_json) as show:
        count = _show_ready(rows, 0, show)
        with set_progress(len(instances), len(rows)) as advance:
            for number, outcome in finished:
                index = open_ones[number]
                rows.add(index, json.dumps({"index": index} | outcome.to_dict()))
                count = _show_ready(rows, count, show)
                advance()
    summary = Summary()
    summary.add(json.loads(rows[index]) for index in range(len(instances)))
    nothing = summary.failed == summary.instances > 0
    if isinstance(rows, PartFile):
        rows.discard() if nothing else rows.finish()  # an old output does not go for nothing
    if nothing:
        raise InputError(summary.first_failed.partition(": ")[2])
    if not as_json:
        print_set(summary)
        if out is not None:
            typer.echo(f"wrote {out}")
    end_of_set(summary)


def _show_ready(rows: Rows, count: int, show: Callable[[str], object] | None) -> int:
    """Show the next lines as far as they are there; return how many are shown then."""
    while show is not None and count in rows:
        show(rows[count])
        count += 1
    return count


@contextmanager
def _lines_to(out: Path | None, as_json: bool) -> Iterator[Callable[[str], object] | None]:
    """Give a function that writes a line to stdout, to a device or pipe, or to both."""
    with nullcontext() if out is None else out.open("w", encoding="utf-8") as file:

        def show(line: str) -> None:
            if file is not None:
                file.write(f"{line}\n")
            if as_json:
                typer.echo(line)

        yield show if as_json or file is not None else None
