"""The command line: parse, call, print."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from decost import __version__
from decost.solver import DEFAULT_METHOD

if TYPE_CHECKING:
    from decost.files.sets import Rows
    from decost.problem.instance import Instance
    from decost.result import Result

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Plan visits when how long you stay decides what you earn.",
)

InstanceFile = Annotated[
    Path, typer.Argument(help="Instance: JSON, Solomon or KU Leuven file; set: .npz or .jsonl.")
]
Vehicles = Annotated[int | None, typer.Option(help="Number of vehicles, instead of the file's.")]
Profit = Annotated[
    str, typer.Option(help="Profits of a Solomon or KU Leuven file: fixed or variable.")
]
Truncate = Annotated[
    str,
    typer.Option(help="Decimals of distances in such a file: 0 to 9, none, or auto (convention)."),
]


class _InputError(Exception):
    """Bad input, in one line."""


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"decost {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    name="solve", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def _solve(
    context: typer.Context,
    file: InstanceFile,
    method: Annotated[str, typer.Option(help="Method; see `decost methods`.")] = DEFAULT_METHOD,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best plan so far is returned.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the method's random generator.")] = 0,
    vehicles: Vehicles = None,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
    threads: Annotated[
        int | None,
        typer.Option(help="Of a set, instances to solve at a time (one a core); else for search."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON and nothing else, one line an instance.")
    ] = False,
    start: Annotated[
        Path | None, typer.Option(help="Plan to improve, as --out writes it; never made worse.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the plan (a set: JSON lines).")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin a set anew, whatever OUT.part holds.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the plan: .png, .pdf or .svg.")] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say why stops are left out, in as much time again (a minute unless told).",
        ),
    ] = False,
) -> None:
    """Plan the visits of an instance, or of every instance of a set.

    Plans of a set are kept in OUT.part as they come; the same command goes on with them.
    Further options of a method (see `decost methods`) are given as --name value.
    """
    from decost.files.writing import require_writable

    if str(file).startswith("--"):
        raise _InputError(f"{file}: options of a method come after FILE")
    instances, is_set = _read(file, profit, truncate, vehicles)
    for path in (out, plot):
        if path is not None:
            require_writable(path)
            _require_other(path, file)
    if restart and not (is_set and out is not None):
        raise _InputError("--restart: is for a set with --out")
    if plot is not None:
        if out is not None and _same_place(out, plot):
            raise _InputError(f"--out {out}, --plot {plot}: one would overwrite the other")
        _require_picture(plot)
        if is_set:
            raise _InputError(f"--plot {plot}: {file} holds a set; only a single plan can be drawn")
    if explain and (is_set or as_json):
        what = "--json" if as_json else f"{file} holds a set, and"
        raise _InputError(f"--explain: {what} has no place for it; explain a single plan")
    options = _method_options(method, context.args) | {"seed": seed}
    if start is not None:
        if is_set:
            raise _InputError(f"--start {start}: {file} holds a set; a start is for one instance")
        options["start"] = _read_start(start, method, instances[0])
    if time_limit is not None:
        options["time_limit"] = time_limit
    if is_set:
        with _rows_of(out, instances, method, options, file, restart) as rows:
            _solve_set(rows, instances, method, options | {"threads": threads}, as_json, out)
        return
    _prepare(method, instances)
    if threads is not None:
        options["threads"] = threads
    from decost.files.door import write
    from decost.solver import solve

    with _best_so_far(method) as watched:
        result = solve(instances[0], method, **options, **watched)
    if out is not None:
        write(result, out)
    if plot is not None:
        _draw(result.instance, result.solution, plot)
    if as_json:
        typer.echo(json.dumps(result.to_dict()))
        return
    _print_plan(result)
    if explain:
        typer.echo(f"\n{result.explain(time_limit=time_limit)}")
    for path in (out, plot):
        if path is not None:
            typer.echo(f"wrote {path}")


@app.command(name="check")
def _check(
    file: Annotated[Path, typer.Argument(metavar="INSTANCE", help="Instance or set.")],
    solution: Annotated[
        Path, typer.Argument(metavar="PLAN", help="Plan, as `decost solve --out` writes it.")
    ],
    vehicles: Vehicles = None,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
) -> None:
    """Check a plan: exit 0 feasible, 1 with every violation printed if not, 2 unreadable."""
    from decost.files.door import read_solution, read_solutions
    from decost.problem.checker import check, profit_of

    instances, is_set = _read(file, profit, truncate, vehicles)
    if is_set:
        plans = read_solutions(solution, instances)
    else:
        plans = {0: read_solution(solution, instances[0])}
    wrong = 0
    for index, plan in sorted(plans.items()):
        violations = check(instances[index], plan)
        wrong += bool(violations)
        for violation in violations:
            typer.echo(f"instance {index}: {violation}" if is_set else str(violation))
    if is_set:
        missing = len(instances) - len(plans)
        without = f"; {missing} of {len(instances)} instances have no plan" if missing else ""
        typer.echo(f"{len(plans) - wrong} of {len(plans)} plans feasible{without}")
    elif not wrong:
        typer.echo(f"feasible, profit {profit_of(instances[0], plans[0]):.10g}")
    if wrong:
        raise typer.Exit(1)


@app.command(name="generate")
def _generate(
    family: Annotated[str, typer.Argument(help="paper or mixed.")],
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
        raise _InputError(f"--out {out}: must end in .npz, .jsonl or .json")
    if out.suffix == ".json" and count != 1:
        raise _InputError(f"--out {out}: a .json file holds one instance, not {count}")
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


@app.command(name="plot")
def _plot(
    file: Annotated[Path, typer.Argument(metavar="INSTANCE", help="Instance.")],
    solution: Annotated[
        Path, typer.Argument(metavar="PLAN", help="Plan, as `decost solve --out` writes it.")
    ],
    out: Annotated[Path, typer.Option(help=".png, .pdf or .svg.")],
    vehicles: Vehicles = None,
    profit: Profit = "fixed",
    truncate: Truncate = "auto",
) -> None:
    """Draw a plan: the route on a map and the timeline."""
    from decost.files.door import read_solution
    from decost.problem.checker import check

    _require_picture(out)
    instances, is_set = _read(file, profit, truncate, vehicles)
    if is_set:
        raise _InputError(f"{file}: holds a set; only a single plan can be drawn")
    plan = read_solution(solution, instances[0])
    _draw(instances[0], plan, out)
    typer.echo(f"wrote {out}")
    broken = len(check(instances[0], plan))
    if broken:
        rules = "a rule" if broken == 1 else f"{broken} rules"
        typer.echo(f"decost: the plan breaks {rules}; see decost check", err=True)


@app.command(name="methods")
def _methods() -> None:
    """List the methods and their options."""
    from decost.methods.options import ImprovingOptions
    from decost.solver import list_methods, missing_methods

    common = ImprovingOptions.model_fields
    improving = []
    for method in list_methods():
        typer.echo(f"{method.name:<10} {method.description}")
        own = {k: v for k, v in method.options.model_fields.items() if k not in common}
        for line in _option_lines(own, 12):
            typer.echo(line)
        if issubclass(method.options, ImprovingOptions):
            improving.append(method.name)
    for complaint in missing_methods():
        typer.echo(complaint)
    typer.echo("\nAll of them take --seed and --time-limit.")
    typer.echo(f"A plan to improve, --start PLAN, is taken by: {', '.join(improving)}.")


@app.command(name="models")
def _models() -> None:
    """List the weights that come with the package, and where they come from."""
    from decost.learn.checkpoint import list_models, read_card

    for name, path in list_models():
        card = read_card(path)
        typer.echo(f"{name:<12} {card.pop('about', '')}")
        for field, value in card.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {each}" for key, each in value.items())
            typer.echo(f"{'':<12} {field.replace('_', ' ')}: {value}")


@app.command(
    name="train",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def _train(
    context: typer.Context,
    out: Annotated[Path | None, typer.Option(help="Folder of the run.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in a folder.")] = None,
    show_help: Annotated[bool, typer.Option("--help", help="Show all options.")] = False,
) -> None:
    """Train a network; `decost train [gfacs] --help` lists the settings."""
    from pydantic import ValidationError

    from decost.learn.config import AntsConfig, TrainConfig, first_fault

    gfacs = context.args[:1] == ["gfacs"]
    command = "decost train gfacs" if gfacs else "decost train"
    schema: type[AntsConfig | TrainConfig] = AntsConfig if gfacs else TrainConfig
    fields = {
        name: field
        for name, field in schema.model_fields.items()
        if name != "network" or not gfacs  # there is only one
    }
    if show_help:
        typer.echo(f"Usage: {command} --out FOLDER [OPTIONS]")
        typer.echo(f"       {command} --resume FOLDER\n")
        for line in _TRAINING[gfacs]:
            typer.echo(line)
        typer.echo(f"\n  {'--out':<23} folder for the run, new or without a run [runs/...]")
        typer.echo(
            f"  {'--resume':<23} folder of a run to go on with, for more --epochs if told so"
        )
        for line in _option_lines(fields, 2):
            typer.echo(line)
        return
    given = _parse(context.args[gfacs:], fields, command)
    if resume is not None and out is not None:
        raise _InputError(f"--resume {resume}: a run goes on with its own settings and folder")
    try:
        config: Any = schema(**given)
    except ValidationError as error:
        raise _InputError(first_fault(error)) from None
    from decost.learn import runs, train, train_ants

    kind: Any = train_ants if gfacs or (resume and runs.is_for_ants(resume)) else train
    if resume is not None:
        run = kind.resume_run(resume, **given)
    else:
        run = kind.start_run(config, out if out is not None else _run_folder(config.seed))
    typer.echo(f"run in {run.folder}")
    settings = run.config.model_dump().items()
    typer.echo("  ".join(f"{name}={value}" for name, value in settings))
    if run.done:
        typer.echo("the run is done")
        typer.echo("give more --epochs to make it longer")
    try:
        kind.train(run, _report_epoch)
    except KeyboardInterrupt:
        typer.echo(f"go on with: {command} --resume {run.folder}", err=True)
        raise
    typer.echo(f"best gap {run.history[run.best]['gap']:.3f}% after epoch {run.best}")
    typer.echo(f"wrote {run.folder / 'weights.safetensors'}")


_TRAINING = {
    False: (
        "Train a network. By default this is the paper's recipe: REINFORCE with stage",
        "two and the pTAR loss. With --teacher exact it is ours. For the heatmap of gfacs",
        "see decost train gfacs --help.",
    ),
    True: (
        "Train a heatmap for the ants of gfacs, by the trajectory balance of Kim et al.",
        "(2024), with their settings by default.",
    ),
}


@app.command(name="bench", add_help_option=False)
def _bench(
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
        raise _InputError(f"--methods {methods}: choose methods for one experiment, not for all")
    others = [words for words in (methods or "").split(",") if words.strip()]
    if methods is not None and not others:
        raise _InputError(f"--methods {methods!r}: names none")
    if data is not None and not any(one.data for one in chosen):
        raise _InputError(f"--data {data}: {name} needs no data")
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
            left = f"about {_duration(news.left)} left"
            what = f"{left}  {news.next}" if news.next else ""
            progress.update(bar, completed=news.done, total=news.total, description=what)
            if not console.is_terminal and news.next not in ("", *before[-1:]):
                done = f"{news.done} of {news.total} tasks done"
                typer.echo(f"{name}: {done}, {left}; next {news.next}", err=True)
            before.append(news.next)

        yield report


def _run_folder(seed: int) -> Path:
    from datetime import datetime

    return Path("runs") / f"{datetime.now():%Y-%m-%d-%H%M%S}-seed{seed}"


def _report_epoch(run: Any) -> None:
    """Print one line about the epoch that is over, with the time that is left."""
    row = run.history[-1]
    words = [f"epoch {run.epoch}/{run.config.epochs}", f"gap {row['gap']:.3f}%"]
    if run.best != run.epoch:
        words.append(f"best {run.history[run.best]['gap']:.3f}%")
    words += [f"{name} {row[name]:.4g}" for name in ("profit", "loss", "regret") if name in row]
    if run.epoch:
        left = run.seconds / run.epoch * (run.config.epochs - run.epoch)
        if run.config.time_limit is not None:
            left = min(left, max(0.0, run.config.time_limit - run.seconds))
        words.append(f"{run.seconds:.0f} s, at most {_duration(left)} left")
    typer.echo("  ".join(words))


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes else f"{seconds:.0f} s"


def _read(
    file: Path, profit: str, truncate: str, vehicles: int | None
) -> tuple[list[Instance], bool]:
    from decost.files.door import read_any

    decimals: Any = int(truncate) if truncate in tuple("0123456789") else truncate
    return read_any(file, profit=profit, truncate=decimals, vehicles=vehicles)  # type: ignore[arg-type]


def _prepare(method: str, instances: list[Instance]) -> None:
    """Prepare a method; if that takes long, say why.

    In a thread of its own: Ctrl-C must not meet a kernel, which it can crash.
    """
    from concurrent.futures import ThreadPoolExecutor, wait

    from decost.solver import prepare

    note = "decost: getting ready; after an installation this compiles for a minute or so"
    pool = ThreadPoolExecutor(1)
    try:
        ready = pool.submit(prepare, method, instances)
        if wait([ready], timeout=3.0).not_done:
            typer.echo(note, err=True)
        while not ready.done():  # Ctrl-C may not wake a thread that waits without end
            wait([ready], timeout=0.1)
        ready.result()
    finally:
        pool.shutdown(wait=False)


def _method_options(method: str, words: list[str]) -> dict[str, Any]:
    """Read further options of a method by its own schema."""
    from decost.methods.options import ImprovingOptions
    from decost.solver import get_method

    # These have parameters of their own, or none because they are for Python.
    common = tuple(ImprovingOptions.model_fields)
    return _parse(words, get_method(method).options.model_fields, method, common)


def _read_start(path: Path, method: str, instance: Instance) -> Any:
    from decost.files.door import read_solution
    from decost.methods.options import ImprovingOptions
    from decost.solver import get_method, list_methods

    if not issubclass(get_method(method).options, ImprovingOptions):
        able = [one.name for one in list_methods() if issubclass(one.options, ImprovingOptions)]
        raise _InputError(
            f"--start {path}: {method} does not improve a plan; these do: {', '.join(able)}"
        )
    return read_solution(path, instance)


@contextmanager
def _best_so_far(method: str) -> Iterator[dict[str, Any]]:
    """Show what a method has reached, in one line on a terminal that goes away in the end."""
    from rich.console import Console
    from rich.status import Status

    from decost.methods.options import ImprovingOptions, Progress
    from decost.solver import get_method

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


def _parse(
    words: list[str], fields: dict[str, Any], owner: str, elsewhere: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Read --name value, --flag and --no-flag by the fields of a schema."""
    options: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not flag.startswith("--") or name in elsewhere:
            raise _InputError(f"{word}: unexpected")
        negated = name.removeprefix("no_")
        if name not in fields and negated in fields and fields[negated].annotation is bool:
            options[negated] = False
        elif equals:
            options[name] = value
        elif name in fields and fields[name].annotation is bool:
            options[name] = True
        elif rest and not rest[0].startswith("--"):
            options[name] = rest.pop(0)
        else:
            known = ", ".join("--" + field.replace("_", "-") for field in fields)
            raise _InputError(f"{word}: not an option with a value; {owner} takes {known}")
    return options


def _option_lines(fields: dict[str, Any], indent: int) -> Iterator[str]:
    """Describe the options of a schema, one a line."""
    for name, field in fields.items():
        flag = name.replace("_", "-")
        if field.annotation is bool and field.default is True:
            flag = f"no-{flag}"
            described = f"without {field.description}"
        else:
            default = "" if field.default in ("", None, False) else f" [{field.default}]"
            described = f"{field.description}{default}"
        yield f"{'':<{indent}}{'--' + flag:<23} {described}"


@contextmanager
def _rows_of(
    out: Path | None,
    instances: list[Instance],
    method: str,
    options: dict[str, Any],
    file: Path,
    restart: bool,
) -> Iterator[Rows]:
    """Give what is finished of a set already, and the place for more."""
    from decost.files.sets import Rows, open_part, part_of
    from decost.files.writing import is_special
    from decost.solver import get_method, read_options

    settings = read_options(get_method(method), options)
    if out is None or is_special(out):
        yield Rows()
        return
    _require_other(part_of(out), file)
    with open_part(out, instances, method, settings, restart=restart) as part:
        whole = len(instances)
        if len(part):
            typer.echo(f"decost: going on with {len(part)} of {whole} plans", err=True)
        try:
            yield part
        except KeyboardInterrupt:
            kept = f"{len(part)} of {whole} plans are kept in {part.path}"
            typer.echo(f"decost: {kept}; the same command goes on", err=True)
            raise


def _solve_set(
    rows: Rows,
    instances: list[Instance],
    method: str,
    options: dict[str, Any],
    as_json: bool,
    out: Path | None,
) -> None:
    from decost.files.sets import PartFile
    from decost.solver import solve_as_done

    _prepare(method, instances)
    open_ones = [index for index in range(len(instances)) if index not in rows]
    finished = solve_as_done([instances[index] for index in open_ones], method, **options)
    with _lines_to(None if isinstance(rows, PartFile) else out, as_json) as show:
        shown = _show_ready(rows, 0, show)
        with _progress(len(instances), len(rows)) as advance:
            for number, outcome in finished:
                index = open_ones[number]
                rows.add(index, json.dumps({"index": index} | outcome.to_dict()))
                shown = _show_ready(rows, shown, show)
                advance()
    answers = [json.loads(rows[index]) for index in range(len(instances))]
    failed = [answer for answer in answers if answer["status"] == "failed"]
    nothing = len(failed) == len(answers) > 0
    if isinstance(rows, PartFile):
        rows.discard() if nothing else rows.finish()  # an old output does not go for nothing
    if nothing:
        raise _InputError(failed[0]["error"])
    if not as_json:
        _print_set([answer for answer in answers if answer["status"] != "failed"])
        if out is not None:
            typer.echo(f"wrote {out}")
    if failed:
        first = f"instance {failed[0]['index']}: {failed[0]['error']}"
        count = f"{len(failed)} of {len(answers)} instances failed"
        typer.echo(f"decost: {count}; {_shown(first)}", err=True)
        raise typer.Exit(1)


def _show_ready(rows: Rows, shown: int, show: Callable[[str], object] | None) -> int:
    """Show the next lines as far as they are there; return how many are shown then."""
    while show is not None and shown in rows:
        show(rows[shown])
        shown += 1
    return shown


@contextmanager
def _lines_to(out: Path | None, as_json: bool) -> Iterator[Callable[[str], object] | None]:
    """Give a function that writes a line to stdout, to a device or pipe, or to both."""
    with nullcontext() if out is None else out.open("w", encoding="utf-8") as file:

        def show(line: str) -> None:
            if file is not None:
                file.write(f"{line}\n")
            if as_json:
                typer.echo(line)

        yield show if as_json or file is not None else None


@contextmanager
def _progress(total: int, done: int) -> Iterator[Callable[[], object]]:
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


def _print_plan(result: Result) -> None:
    from rich.table import Table

    console = _console()
    instance = result.instance
    title = _shown(instance.name) or instance.problem
    visits = len(result.solution.visits)
    console.print(f"{title}: {visits} of {instance.stops} stops", style="bold")
    for number, route in enumerate(result.solution.routes, start=1):
        heading = "" if len(result.solution.routes) == 1 else f"route {number}"
        if not route.visits:
            console.print(f"{heading or 'route'}: stays at the depot")
            continue
        table = Table(title=heading, title_justify="left", box=_box())
        table.add_column("stop", no_wrap=True)
        for column in ("arrive", "start", "stay", "leave", "profit"):
            table.add_column(column, justify="right", no_wrap=True)
        for visit in route.visits:
            times = (visit.arrive, visit.start, visit.stay, visit.leave, visit.profit)
            label = instance.label(visit.stop)
            table.add_row(_shown(str(label)), *(f"{value:.2f}" for value in times))
        table.add_section()
        table.add_row("back", f"{route.finish:.2f}", "", "", "", f"{route.profit:.2f}")
        console.print(table)
    console.print(_summary(result))


def _summary(result: Result) -> str:
    bound = ""
    if result.status != "optimal" and result.bound is not None:
        gap = 100 * (result.gap or 0)
        shown = f"{gap:.2f}%" if gap >= 0.01 else "less than 0.01%"
        bound = f", at most {result.bound:.6g} is possible (gap {shown})"
    found_by = f" (plan found by {result.found_by})" if result.found_by else ""
    return (
        f"profit {result.profit:.6g}, {result.status}{bound}; "
        f"{result.method}{found_by}, {result.runtime:.3f} s"
    )


def _print_set(answers: list[dict[str, Any]]) -> None:
    from statistics import fmean

    from rich.table import Table

    from decost.result import gap_of

    table = Table(box=_box())
    for column in ("instances", "mean profit", "optimal", "mean gap to bound", "mean time"):
        table.add_column(column, justify="right", no_wrap=True)
    gaps = [gap_of(answer["profit"], answer["bound"]) for answer in answers]
    known = [gap for gap in gaps if gap is not None]
    table.add_row(
        str(len(answers)),
        f"{fmean(answer['profit'] for answer in answers):.6g}",
        str(sum(answer["status"] == "optimal" for answer in answers)),
        f"{100 * fmean(known):.3f}%" if len(known) == len(gaps) else "no bound",
        f"{1000 * fmean(answer['runtime'] for answer in answers):.3f} ms",
    )
    _console().print(table)


def _console() -> Any:
    from rich.console import Console

    # Names are shown as they are; not a terminal: wide enough that no table is cut.
    width = None if sys.stdout.isatty() else 160
    return Console(width=width, highlight=False, markup=False, emoji=False)


def _box() -> Any:
    from rich import box

    return box.SIMPLE_HEAD


def _shown(text: str) -> str:
    """Text from a file, in one line and without codes that a terminal would obey."""
    return "".join(character if character.isprintable() else " " for character in text)


def _same_place(one: Path, other: Path) -> bool:
    from decost.files.writing import linked

    return linked(one) == linked(other)


def _require_other(path: Path, file: Path) -> None:
    if path.is_file() and path.samefile(file):
        raise _InputError(f"{path}: is the instance itself, and would be lost")


def _require_picture(path: Path) -> None:
    from decost.show.plan import FORMATS

    *some, last = (f".{ending}" for ending in FORMATS)
    if path.suffix.lower() not in (*some, last):
        raise _InputError(f"{path}: a picture must end in {', '.join(some)} or {last}")


def _draw(instance: Instance, solution: Any, path: Path) -> None:
    from decost.show.plan import plot_plan, save_figure

    save_figure(plot_plan(instance, solution), path)


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
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        _complain(error.format_message(), 2)
    except (BrokenPipeError, SystemExit):  # typer makes the second of the first
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        known = error.filename is not None and error.strerror
        _complain(f"{error.filename}: {error.strerror}" if known else str(error), 2)
    except MemoryError:
        _complain("not enough memory", 2)
    except ModuleNotFoundError as error:
        from decost.solver import LEARN, needs_extra

        if error.name not in LEARN:
            raise
        _complain(f"this command {needs_extra(error)}", 2)
    except (_InputError, ValueError) as error:
        _complain(str(error), 2)
    except KeyboardInterrupt:  # once more, while the first was dealt with
        _interrupt()
    return code


@contextmanager
def _heeding_signals() -> Iterator[list[int]]:
    """Take what asks a process to end for Ctrl-C, so that it leaves in order; list what came."""
    heard: list[int] = []

    def interrupt(number: int, frame: object) -> NoReturn:
        heard.append(number)
        raise KeyboardInterrupt

    before = {}
    if current_thread() is main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            # What is ignored stays so, as with nohup.
            if number is not None and signal.getsignal(number) in _USUAL:
                before[number] = signal.signal(number, interrupt)
    try:
        yield heard
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


def _complain(message: str, code: int) -> NoReturn:
    typer.echo(f"decost: {' '.join(_shown(message).split())}", err=True)
    sys.exit(code)
