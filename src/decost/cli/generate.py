"""`decost generate`: random instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from decost.cli.shared import InputError


def run(
    family: Annotated[str, typer.Argument(help="paper, mixed, free, rewards or people.")],
    out: Annotated[
        Path,
        typer.Option(help=".npz, .jsonl, .parquet or a folder of it; for one instance also .json."),
    ],
    nodes: Annotated[int, typer.Option(help="Depot and stops.")] = 50,
    window: Annotated[float, typer.Option(help="The paper's TW, the width of the windows.")] = 100,
    count: Annotated[int, typer.Option(help="Number of instances.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    budget: Annotated[float | None, typer.Option(help="Time budget, not the usual one.")] = None,
    vehicles: Annotated[int, typer.Option(help="Number of vehicles.")] = 1,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew, whatever parts there are.")
    ] = False,
) -> None:
    """Generate random instances.

    More than 10,000 are drawn in parts of 10,000; with --out FOLDER (or .parquet) each is written
    when it is drawn, and the same command goes on with the parts that are missing.
    """
    from decost.files.door import write
    from decost.files.parts import is_for_parts
    from decost.files.writing import require_writable
    from decost.problem.generators import generate

    given: dict[str, Any] = {"nodes": nodes, "window": window, "count": count}
    given |= {"seed": seed, "budget": budget, "vehicles": vehicles}
    if is_for_parts(out):
        _write_parts(family, out, restart, given)
        return
    require_writable(out)
    if restart:
        raise InputError("--restart: is for parts, --out FOLDER or .parquet")
    if out.suffix not in (".npz", ".jsonl", ".json"):
        raise InputError(f"--out {out}: must end in .npz, .jsonl, .json or .parquet, or in none")
    if out.suffix == ".json" and count != 1:
        raise InputError(f"--out {out}: a .json file holds one instance, not {count}")
    instances = generate(family, **given)
    write(instances[0] if out.suffix == ".json" else instances, out)
    typer.echo(f"wrote {count} instance{'s' * (count != 1)} to {out}")


def _write_parts(family: str, out: Path, restart: bool, given: dict[str, Any]) -> None:
    """Generate part by part, and go on with those that are there."""
    from decost.cli.progress import parts_progress
    from decost.files.parts import write_generated

    with parts_progress() as show:
        for done, before in write_generated(out, family, restart=restart, **given):
            if done == before > 0:
                typer.echo(f"decost: going on with {before} of {given['count']}", err=True)
            show(done, given["count"])
    typer.echo(f"wrote {given['count']} instance{'s' * (given['count'] != 1)} to {out}")
