"""`decost bench`: the paper's tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from decost.cli.printing import duration
from decost.cli.shared import InputError


def run(
    name: Annotated[str | None, typer.Argument(help="Experiment, or all.")] = None,
    scale: Annotated[str, typer.Option(help="quick or full.")] = "quick",
    out: Annotated[Path, typer.Option(help="Folder for rows, tables and figures.")] = Path("out"),
    methods: Annotated[str | None, typer.Option(help="Other methods, with commas between.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of Solomon's files.")] = None,
    show_help: Annotated[bool, typer.Option("--help", help="Show all options.")] = False,
) -> None:
    """Repeat a table or figure of the paper; `decost bench` lists them."""
    from decost.experiments import get_experiment, list_experiments
    from decost.experiments.runner import Folders, run_experiment

    if name is None or show_help:
        typer.echo(_BENCH)
        for one in list_experiments():
            typer.echo(f"  {one.name:<12} {one.title} ({one.paper})")
        return
    chosen = list(list_experiments()) if name == "all" else [get_experiment(name)]
    if name == "all" and methods is not None:
        raise InputError(f"--methods {methods}: choose methods for one experiment, not for all")
    others = [words for words in (methods or "").split(",") if words.strip()]
    if methods is not None and not others:
        raise InputError(f"--methods {methods!r}: names none")
    if data is not None and not any(one.data for one in chosen):
        raise InputError(f"--data {data}: {name} needs no data")
    folders = Folders(out, data)
    if name == "all" and data is None:
        for one in (one for one in chosen if one.data):
            typer.echo(f"skipped {one.name}: it needs {one.data}, --data FOLDER", err=True)
        chosen = [one for one in chosen if not one.data]
    for one in chosen:  # what is wrong with the last one should not come out after hours
        one.tasks(one.config(scale, others), folders)
    for one in chosen:
        words = ["decost", "bench", one.name, "--scale", scale]
        words += ["--methods", f'"{methods}"'] if methods else []
        words += ["--data", "FOLDER"] if one.data else []
        try:
            with _bench_progress(one.name) as report:
                paths = run_experiment(
                    one,
                    scale,
                    folders,
                    methods=others,
                    command=" ".join(words),
                    report=report,
                )
        except KeyboardInterrupt:
            typer.echo(
                f"decost: what is measured so far is kept in {out}; the same command goes on",
                err=True,
            )
            raise
        typer.echo(paths[0].read_text(encoding="utf-8"))
        for path in paths:
            typer.echo(f"wrote {path}")


_BENCH = """\
Usage: decost bench NAME [--scale quick|full] [--out DIR] [--methods A,B] [--data FOLDER]
       decost bench all

Repeat a table or figure of the paper. Rows are kept in DIR as they come, and a run that
was interrupted or killed goes on where it stopped. In the end DIR/NAME-SCALE.csv, .md
and, for a figure, .png are written.

  --scale      quick: about a minute each; full: hours, for what the paper did as far as a CPU can
  --out        folder for all files [out]
  --methods    other methods, with options: "greedy,ils time_limit=5"
  --data       folder of Solomon's files, for solomon

Experiments:"""


@contextmanager
def _bench_progress(name: str) -> Iterator[Callable[[Any], object]]:
    """Show how far an experiment is; not on a terminal, a line for each method of a setting."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    before: list[str] = []
    with Progress(
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task("", total=None)

        def report(news: Any) -> None:
            if news.done and not before:
                typer.echo(f"{name}: {news.done} of {news.total} tasks were done before", err=True)
            left = f"about {duration(news.left)} left"
            what = f"{left}  {news.next}" if news.next else ""
            progress.update(bar, completed=news.done, total=news.total, description=what)
            if not console.is_terminal and news.next not in ("", *before[-1:]):
                done = f"{news.done} of {news.total} tasks done"
                typer.echo(f"{name}: {done}, {left}; next {news.next}", err=True)
            before.append(news.next)

        yield report
