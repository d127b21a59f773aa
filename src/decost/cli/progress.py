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


def show_preparing(methods: Sequence[str]) -> None:
    """Compile all that some methods need, with a bar."""
    from rich.console import Console

    from decost.method.aside import Aside
    from decost.planner.door import prepare

    with _shown(Console(stderr=True)):
        for method in methods:
            # In a thread of its own: Ctrl-C must not meet a kernel, which it can crash.
            Aside(partial(prepare, method)).answer()
