"""`decost methods`: all methods with their options, and what each can plan for."""

from __future__ import annotations

import typer

from decost.cli.options import options_of, own_fields


def run(context: typer.Context) -> None:
    """List the methods, their options, and what they can plan for."""
    from decost.method.options import ImprovingOptions
    from decost.planner.door import list_methods, missing_methods

    improving = []
    for method in list_methods():
        typer.echo(f"{method.name:<10} {method.description}")
        options = options_of(own_fields(method.options))
        if options:
            formatter = context.make_formatter()
            formatter.current_indent = 4
            formatter.write_dl([option.get_help_record(context) for option in options])
            typer.echo(formatter.getvalue(), nl=False)
        if issubclass(method.options, ImprovingOptions):
            improving.append(method.name)
    for complaint in missing_methods():
        typer.echo(complaint)
    typer.echo("\nWhat they can plan for:\n")
    _print_abilities()
    typer.echo("\nAll of them take --seed and --time-limit.")
    typer.echo(f"A plan to improve, --start PLAN, is taken by: {', '.join(improving)}.")


def _print_abilities() -> None:
    from decost.planner.abilities import abilities

    rows = abilities()
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
