"""`decost bench`: the paper's tables and figures, and our own claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from decost.cli.shared import Cluster, workers_of


def run(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Bench, or all.")] = None,
    scale: Annotated[str, typer.Option(help="quick or full.")] = "quick",
    out: Annotated[Path, typer.Option(help="Folder for rows, tables and figures.")] = Path("out"),
    methods: Annotated[str | None, typer.Option(help="Other methods, with commas between.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of benchmark files.")] = None,
    threads: Annotated[int, typer.Option(help="Tasks to do at a time.")] = 1,
    cluster: Cluster = None,
    show_help: Annotated[bool, typer.Option("--help", help="Show all options.")] = False,
) -> None:
    """Repeat a table of the paper, or measure our own claims; `decost bench` lists them."""
    from decost.bench import command
    from decost.bench.schema import Folders

    if name is None or show_help:
        command.show_help(name)
        return
    changes = command.read_fields(context.args)
    if methods is not None:
        changes["methods"] = methods
    with workers_of(cluster) as found:
        executor = None if found is None else found.executor
        command.run(name, scale, Folders(out, data), threads, changes, executor)
