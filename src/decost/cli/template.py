"""`decost template`: tables to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from decost.cli.shared import InputError


def run(
    out: Annotated[Path, typer.Argument(help=".csv, .tsv or .xlsx (with a sheet of vehicles).")],
    vehicles: Annotated[
        Path | None, typer.Option(help="Beside .csv or .tsv: a table of vehicles, too.")
    ] = None,
) -> None:
    """Write a table of places to fill in, with a few rows as an example."""
    from decost.files.table_files import write_template
    from decost.files.writing import require_writable

    outputs = [path for path in (out, vehicles) if path is not None]
    for path in outputs:
        require_writable(path)
        if path.exists():
            raise InputError(f"{path}: is there already")
    write_template(out, vehicles)
    for path in outputs:
        typer.echo(f"wrote {path}")
    if vehicles is not None:
        typer.echo(f"try it: decost solve {out} --vehicles {vehicles}")
    elif out.suffix.lower() == ".xlsx":
        typer.echo(f"try it: decost solve {out}")
    else:
        words = '--vehicle "red, start=Hotel Sole, begin=09:00, due=17:00" --speed "4.5 km/h"'
        typer.echo(f"try it: decost solve {out} {words}")
