"""What is shown on stderr while something is being solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from decost.method.progress import Progress
    from decost.problem.instance import Instance


def prepare_method(method: str, instances: list[Instance]) -> None:
    """Prepare a method; if that takes long, say why.

    In a thread of its own: Ctrl-C must not meet a kernel, which it can crash.
    """
    from decost.method.aside import Aside
    from decost.planner.door import prepare

    aside = Aside(lambda: prepare(method, instances))
    if not aside.wait(3.0):
        note = "getting ready; after an installation this compiles for a minute or so"
        typer.echo(f"decost: {note}", err=True)
    aside.answer()


@contextmanager
def best_so_far(method: str) -> Iterator[dict[str, Any]]:
    """Show what a method has reached, in one line on a terminal that goes away in the end."""
    from rich.console import Console
    from rich.status import Status

    from decost.method.options import ImprovingOptions
    from decost.planner.door import get_method

    console = Console(stderr=True)
    improving = issubclass(get_method(method).options, ImprovingOptions)
    if not (improving and console.is_terminal):
        yield {}
        return
    with Status("", console=console) as status:

        def show(news: Progress) -> None:
            bound = "" if news.bound is None else f", at most {news.bound:.6g}"
            status.update(f"{news.seconds:.1f} s: profit {news.profit:.6g}{bound}")

        yield {"progress": show}


@contextmanager
def set_progress(total: int, done: int) -> Iterator[Callable[[], object]]:
    """Show how many instances of a set are done; give what to call when one more is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("", total=total, completed=done)
        yield lambda: progress.advance(task)
