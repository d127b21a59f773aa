"""`decost convert`: an instance or a set in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from decost.cli.reading import Reading, reads
from decost.cli.shared import InputError, InstanceFile, require_other

_SETS = (".jsonl", ".npz", ".parquet")
_ENDINGS = (".json", *_SETS, ".csv", ".tsv", ".xlsx", ".geojson")


@reads
def run(
    file: InstanceFile,
    out: Annotated[
        Path,
        typer.Argument(
            help="The same as .json, .jsonl, .npz, .parquet, .csv, .tsv, .xlsx or .geojson."
        ),
    ],
    out_vehicles: Annotated[
        Path | None, typer.Option(help="Beside .csv, .tsv or .geojson: the table of vehicles.")
    ] = None,
    out_travel: Annotated[
        Path | None, typer.Option(help="Beside these: the table of travel times, if there is one.")
    ] = None,
    reading: Reading = Reading(),  # noqa: B008
) -> None:
    """Write an instance or a set in another format; what that cannot hold is refused by name."""
    from decost.files.door import write
    from decost.files.writing import linked, require_writable

    outputs = [path for path in (out, out_vehicles, out_travel) if path is not None]
    for path in outputs:
        require_writable(path)
        require_other(path, file)
    if len({linked(path) for path in outputs}) < len(outputs):
        raise InputError(f"{' '.join(map(str, outputs))}: one would overwrite the other")
    ending = out.suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(f"{out}: must end in {', '.join(_ENDINGS)}")
    instances, is_set = reading.read(file)
    if is_set and ending not in _SETS and len(instances) > 1:
        raise InputError(f"{file}: holds a set of {len(instances)}; {ending} holds one instance")
    many = is_set and ending in _SETS
    write(instances if many else instances[0], out, vehicles=out_vehicles, travel=out_travel)
    for path in outputs:
        if path.exists():
            typer.echo(f"wrote {path}")
