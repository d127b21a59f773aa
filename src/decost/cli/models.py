"""`decost models`: the weights that come with the package."""

from __future__ import annotations

import typer


def run() -> None:
    """List the weights that come with the package, and where they come from."""
    from decost.inference.weights import list_models, read_card

    for name, path in list_models():
        card = read_card(path)
        typer.echo(f"{name:<12} {card.pop('about', '')}")
        for field, value in card.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {each}" for key, each in value.items())
            typer.echo(f"{'':<12} {field.replace('_', ' ')}: {value}")
