"""The program: its commands, how it ends, and what it says if something is wrong."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from threading import current_thread, main_thread
from typing import Annotated, Any, NoReturn

import typer

from decost import __version__
from decost.cli import (
    bench,
    check,
    convert,
    generate,
    methods,
    models,
    plot,
    replan,
    solve,
    stays,
    studio,
    template,
    train,
)
from decost.cli.printing import shown
from decost.cli.shared import SIGNALS, InputError

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Plan visits when how long you stay decides what you earn.",
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"decost {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("solve", cls=solve.SolveCommand)(solve.run)
app.command("check")(check.run)
app.command("stays")(stays.run)
app.command("replan", cls=solve.SolveCommand)(replan.run)
app.command("convert")(convert.run)
app.command("template")(template.run)
app.command("studio")(studio.run)
app.command("generate")(generate.run)
app.command("plot")(plot.run)
app.command("methods")(methods.run)
app.command("models")(models.run)
app.command("train", cls=train.TrainCommand)(train.run)
app.command(
    "bench",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(bench.run)


_COMPLETING = "_DECOST_COMPLETE"
"""Set by a shell that asks for completions."""


def main() -> NoReturn:
    """Run the command line; bad input ends in exit 2 and one line on stderr."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):  # a name that a terminal lacks letters for
        sys.stdout.reconfigure(errors="replace")
    with _heeding_signals() as heard:
        code = _run()
        if code == 130 or heard:  # also if there is a plan all the same
            _interrupt()
    sys.exit(code if isinstance(code, int) else 0)


def _run() -> Any:
    """Run the command, and give its exit code; complain about errors."""
    try:
        code = app(prog_name="decost", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        _complain(_usage_fault(error), code=2)
    except (BrokenPipeError, SystemExit) as error:  # typer makes the second of the first
        if isinstance(error, SystemExit) and (not error.code or _COMPLETING in os.environ):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        where = "standard output" if error.filename is None else error.filename
        known = error.errno is not None and error.strerror
        _complain(f"{where}: {error.strerror}" if known else str(error), code=2)
    except MemoryError:
        _complain("not enough memory", code=2)
    except ModuleNotFoundError as error:
        from decost.planner.door import LEARN, needs_extra

        if error.name not in LEARN:
            raise
        _complain(f"this command {needs_extra(error)}", code=2)
    except RuntimeError as error:
        from decost.planner.executors import UnfinishedError

        if not isinstance(error, UnfinishedError):
            raise
        _complain(str(error), code=2)
    except (InputError, ValueError) as error:
        # What is wrong with a table is several lines, each a fault.
        _complain(*getattr(error, "faults", [str(error)]), code=2)
    except KeyboardInterrupt:  # once more, while the first was dealt with
        _interrupt()
    return code


def _usage_fault(error: typer.TyperException) -> str:
    """Say what is wrong with the words of a command; of an unknown option, what may be meant."""
    option = getattr(error, "option_name", None)
    if not error.format_message().startswith("No such option"):
        return error.format_message()
    close = getattr(error, "possibilities", None)
    context = getattr(error, "ctx", None)
    command = "decost" if context is None else context.command_path
    advice = f"did you mean {close[0]}?" if close else f"see {command} --help"
    return f"{option}: no such option; {advice}"


@contextmanager
def _heeding_signals() -> Iterator[list[int]]:
    """Take what asks a process to end for Ctrl-C, so that it leaves in order; list what came."""
    SIGNALS.clear()

    def interrupt(number: int, frame: object) -> NoReturn:
        SIGNALS.append(number)
        raise KeyboardInterrupt

    before = {}
    if current_thread() is main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            # What is ignored stays so, as with nohup.
            if number is not None and signal.getsignal(number) in _USUAL:
                before[number] = signal.signal(number, interrupt)
    try:
        yield SIGNALS
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_USUAL = (signal.SIG_DFL, signal.default_int_handler)


def _interrupt() -> NoReturn:
    """Leave at once: threads may still be solving, and Python would wait for them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # nobody may listen any more
        typer.echo("decost: interrupted", err=True)
        sys.stdout.flush()
    os._exit(130)


def _complain(*messages: str, code: int) -> NoReturn:
    for message in messages:
        typer.echo(f"decost: {' '.join(shown(message).split())}", err=True)
    sys.exit(code)
