"""What `decost bench` does: read the words, run, and show how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import typer

import decost.bench
from decost.bench import BenchError
from decost.bench.runner import News, run_bench
from decost.bench.schema import Bench, Folders

USAGE = """\
Usage: decost bench NAME [--scale quick|full] [--out DIR] [--methods A,B] [--data FOLDER]
                         [--threads N] [--cluster WHERE] [--FIELD VALUE ...]
       decost bench all

Repeat a table or figure of the paper, or measure one of our own claims. Rows are kept in
DIR as they come, and a run that was interrupted or killed goes on where it stopped. In the
end DIR/NAME-SCALE.csv, .md and, for a figure, .png are written.

  --scale      quick: about a minute each; full: minutes to hours
  --out        folder for all files [out]
  --methods    other methods, with options: "greedy,ils time_limit=5"
  --data       folder of Solomon's, KU Leuven's or OPLib's files, for those about them
  --threads    tasks to do at a time [1]; times are right with one only
  --cluster    workers that do the tasks: local:N, or the address of a Dask scheduler
  --FIELD      what else can be set; `decost bench NAME --help` lists it

Benches:"""


def show_help(name: str | None) -> None:
    """List all benches and, of one, what can be set."""
    typer.echo(USAGE)
    for one in decost.bench.list_benches():
        typer.echo(f"  {one.name:<12} {one.title}")
    if name is not None:
        quick = decost.bench.get_bench(name).quick
        typer.echo(f"\nFields of {name}, and what they are at the scale quick:")
        for field in quick.options():
            value = getattr(quick, field)
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            typer.echo(f"  --{field.replace('_', '-')} {text}")


def read_fields(words: Sequence[str]) -> dict[str, str]:
    """Read "--count 5" and "--count=5".

    Raises
    ------
    BenchError
        If a word is no option, or an option has no value.
    """
    given: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("--"):
            raise BenchError(f"{word!r}: is no option; options begin with --")
        name, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            value = next(rest, "--")
            if value.startswith("--"):
                raise BenchError(f"No such option: {word}, or it has no value")
        given[name.replace("-", "_")] = value
    return given


def run(
    name: str,
    scale: str,
    folders: Folders,
    threads: int,
    changes: dict[str, str],
    executor: Executor | None = None,
) -> None:
    """Run one bench, or all that can be run with what is given, and print their tables.

    Raises
    ------
    BenchError
        If the words cannot be kept to; nothing is measured then.
    """
    every = name == "all"
    names = decost.bench
    chosen: Sequence[Bench[Any]] = names.list_benches() if every else [names.get_bench(name)]
    if every and changes:
        word, value = next(iter(changes.items()))
        raise BenchError(f"--{word} {value}: choose {word} for one bench, not for all")
    if folders.data is not None and not any(one.data for one in chosen):
        raise BenchError(f"--data {folders.data}: {name} needs no data")
    ready = []
    for one in chosen:  # what is wrong with the last one should not come out after hours
        config = one.config(scale, **changes)
        if every and (wanted := one.missing(config, folders)):
            typer.echo(f"skipped {one.name}: it needs {wanted}", err=True)
        else:
            one.list_tasks(config, folders)
            ready.append(one)
    for one in ready:
        words = ["decost", "bench", one.name, "--scale", scale]
        for field, value in changes.items():
            words += [f"--{field.replace('_', '-')}", f'"{value}"']
        words += ["--data", "FOLDER"] if one.data else []
        command = " ".join(words)
        try:
            with _progress(one.name) as report:
                paths = run_bench(
                    one,
                    scale,
                    folders,
                    threads=threads,
                    executor=executor,
                    command=command,
                    report=report,
                    **changes,
                )
        except KeyboardInterrupt:
            kept = f"what is measured so far is kept in {folders.out}"
            typer.echo(f"decost: {kept}; the same command goes on", err=True)
            raise
        typer.echo(paths[0].read_text(encoding="utf-8"))
        for path in paths:
            typer.echo(f"wrote {path}")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[News], object]]:
    """Show how far a bench is; not on a terminal, a line for each method of a setting."""
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

        def report(news: News) -> None:
            if news.done and not before:
                typer.echo(f"{name}: {news.done} of {news.total} tasks were done before", err=True)
            left = f"about {_duration(news.left)} left"
            what = f"{left}  {news.next}" if news.next else ""
            progress.update(bar, completed=news.done, total=news.total, description=what)
            if not console.is_terminal and news.next not in ("", *before[-1:]):
                done = f"{news.done} of {news.total} tasks done"
                typer.echo(f"{name}: {done}, {left}; next {news.next}", err=True)
            before.append(news.next)

        yield report


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes else f"{seconds:.0f} s"
