"""What is shown on stderr while something is being solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from decost.method.progress import Progress


@contextmanager
def _shown(console: Console, *what: Any, passing: bool = True) -> Iterator[None]:
    """Show something on a terminal, and above it how many kernels are compiled while any are.

    If it is no terminal, one line says so.
    """
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from decost.compiling import NOTE, listening

    kernels = Progress(
        TextColumn("compiling once"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[name]}"),
    )
    task = kernels.add_task("", visible=False, name="")
    said: list[str] = []

    def show(done: int, total: int, name: str) -> None:
        kernels.update(task, completed=done, total=total, name=name, visible=done < total)
        if not console.is_terminal and not said:
            said.append(NOTE)
            typer.echo(f"decost: {NOTE}", err=True)

    with listening(show):
        if not console.is_terminal:
            yield
            return
        with Live(Group(kernels, *what), console=console, transient=passing):
            yield


@contextmanager
def best_so_far(method: str) -> Iterator[dict[str, Any]]:
    """Show what a method has reached, in one line on a terminal that goes away in the end."""
    from rich.console import Console
    from rich.spinner import Spinner

    from decost.method.options import ImprovingOptions
    from decost.planner.door import get_method

    console = Console(stderr=True)
    improving = issubclass(get_method(method).options, ImprovingOptions)
    if not (improving and console.is_terminal):
        with _shown(console):
            yield {}
        return
    line = Spinner("dots")

    def show(news: Progress) -> None:
        bound = "" if news.bound is None else f", at most {news.bound:.6g}"
        line.update(text=f"{news.seconds:.1f} s: profit {news.profit:.6g}{bound}")

    with _shown(console, line):
        yield {"progress": show}


@contextmanager
def set_progress(total: int, done: int) -> Iterator[Callable[[], object]]:
    """Show how many instances of a set are done; give what to call when one more is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    bar = Progress(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    task = bar.add_task("", total=total, completed=done)
    with _shown(Console(stderr=True), bar, passing=False):
        yield lambda: bar.advance(task)


@contextmanager
def answers_of_a_server() -> Iterator[Callable[[int, int], object]]:
    """Show how much of a table of travel times has come; give what to call with it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("travel times"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: list[Any] = []

    def show(done: int, total: int) -> None:
        if total > 1 and not tasks:
            bar.start()
            tasks.append(bar.add_task(""))
        if tasks:
            bar.update(tasks[0], completed=done, total=total)

    try:
        yield show
    finally:
        bar.stop()


LINE = 10.0
"""Seconds between two lines about how far a set is, where there is no terminal."""


@contextmanager
def parts_progress() -> Iterator[Callable[[int, int], object]]:
    """Show how many instances are solved, how many a second, and the time that is left.

    Gives what to call with the number of those that are solved and of all; the first call tells
    what was solved before.
    """
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from decost.cli.printing import duration

    console = Console(stderr=True)
    bar = Progress(BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    task = bar.add_task("", total=None)
    begin: list[tuple[float, int]] = []
    said = [time.perf_counter()]

    def show(done: int, total: int) -> None:
        now = time.perf_counter()
        begin.append((now, done)) if not begin else None
        solved, seconds = done - begin[0][1], now - begin[0][0]
        words = ""
        if solved:
            left = duration(seconds / solved * (total - done))
            words = f"{solved / seconds:,.0f} a second, {left} left"
        bar.update(task, completed=done, total=total, description=words)
        if words and not console.is_terminal and now - said[0] >= LINE:
            said[0] = now
            typer.echo(f"decost: {done:,} of {total:,} instances, {words}", err=True)

    with _shown(console, bar, passing=False):
        yield show


def show_preparing(methods: Sequence[str]) -> None:
    """Compile all that some methods need, with a bar."""
    from rich.console import Console

    from decost.method.aside import Aside
    from decost.planner.door import prepare

    with _shown(Console(stderr=True)):
        for method in methods:
            # In a thread of its own: Ctrl-C must not meet a kernel, which it can crash.
            Aside(partial(prepare, method)).answer()
