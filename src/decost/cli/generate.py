"""`decost generate`: random instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from decost.cli.shared import InputError


def run(
    family: Annotated[str, typer.Argument(help="paper, mixed or people.")],
    out: Annotated[Path, typer.Option(help=".npz or .jsonl; for one instance also .json.")],
    nodes: Annotated[int, typer.Option(help="Depot and stops.")] = 50,
    window: Annotated[float, typer.Option(help="The paper's TW, the width of the windows.")] = 100,
    count: Annotated[int, typer.Option(help="Number of instances.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    budget: Annotated[float | None, typer.Option(help="Time budget, not the usual one.")] = None,
    vehicles: Annotated[int, typer.Option(help="Number of vehicles.")] = 1,
) -> None:
    """Generate random instances."""
    from decost.files.door import write
    from decost.files.writing import require_writable
    from decost.problem.generators import generate

    require_writable(out)
    if out.suffix not in (".npz", ".jsonl", ".json"):
        raise InputError(f"--out {out}: must end in .npz, .jsonl or .json")
    if out.suffix == ".json" and count != 1:
        raise InputError(f"--out {out}: a .json file holds one instance, not {count}")
    instances = generate(
        family,
        nodes=nodes,
        window=window,
        count=count,
        seed=seed,
        budget=budget,
        vehicles=vehicles,
    )
    write(instances[0] if out.suffix == ".json" else instances, out)
    typer.echo(f"wrote {count} instance{'s' * (count != 1)} to {out}")
