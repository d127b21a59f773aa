"""The part of `decost solve` that is for Parquet: plans part by part, here or on a cluster."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import typer

from decost.cli.printing import print_set
from decost.cli.progress import parts_progress
from decost.cli.shared import InputError, end_of_set, workers_of


def solve_folder(
    file: Path,
    out: Path,
    method: str,
    options: dict[str, Any],
    *,
    as_json: bool,
    restart: bool,
    cluster: str | None,
) -> None:
    """Solve a set of Parquet to a folder or file of Parquet, and say what came out."""
    from decost.cluster.parts import solve_parts
    from decost.files.parts import plans_in

    begin, before = time.perf_counter(), [0]
    try:
        with workers_of(cluster) as found, parts_progress() as show:

            def progress(done: int, total: int) -> None:
                if not before[1:]:
                    before[:] = [done, done]
                    if done:
                        typer.echo(f"decost: going on with {done} of {total} plans", err=True)
                show(done, total)

            executor = None if found is None else found.executor
            summary = solve_parts(
                file,
                out,
                method,
                executor=executor,
                restart=restart,
                progress=progress,
                **options,
            )
    except KeyboardInterrupt:
        typer.echo("decost: finished parts are kept; the same command goes on", err=True)
        raise
    if summary.failed == summary.instances:
        raise InputError(summary.first_failed)
    seconds = time.perf_counter() - begin
    solved = summary.instances - before[0]
    if as_json:
        for row in plans_in(out):
            typer.echo(json.dumps(row))
    else:
        print_set(summary)
        rate = f"{solved / seconds:,.0f} a second"
        typer.echo(f"wrote {out}: {solved} plans in {seconds:.1f} s, {rate}")
    end_of_set(summary)
