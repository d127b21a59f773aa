"""`decost train`: train a network, or a heatmap for the ants of gfacs."""

from __future__ import annotations

from concurrent.futures import Executor
from copy import copy
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from decost.cli.options import Fields, SchemaCommand, given_options
from decost.cli.printing import duration
from decost.cli.shared import Cluster, InputError, workers_of
from decost.method.aside import Aside


class TrainCommand(SchemaCommand):
    """Takes the settings of a training as well."""

    def fields_of(self, given: dict[str, Any], rest: list[str]) -> Fields:
        """Choose by the first word whether it is a network or a heatmap that is trained."""
        from decost.learn.config import TEACHER_RECIPE, AntsConfig, TrainConfig

        if given.get("kind") != "gfacs":
            return dict(TrainConfig.model_fields) | {
                name: _with_recipe(TrainConfig.model_fields[name], value)
                for name, value in TEACHER_RECIPE.items()
            }
        fields = AntsConfig.model_fields
        return {name: field for name, field in fields.items() if name != "network"}


def _with_recipe(field: FieldInfo, value: object) -> FieldInfo:
    """Say in a setting's description what it is by default with the exact teacher."""
    told = copy(field)
    shown = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
    told.description = f"{field.description}; with --teacher exact {shown}"
    return told


def run(
    context: typer.Context,
    kind: Annotated[
        str | None, typer.Argument(metavar="gfacs", help="A heatmap, not a network.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run, new or without a run: runs/... if none.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Folder of a run to go on with, for more --epochs if told so."),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Train a network, or a heatmap; `decost train [gfacs] --help` lists the settings.

    By default a network is trained by the paper's recipe: REINFORCE with stage two and the
    pTAR loss. With --teacher exact it is ours. A heatmap for the ants of gfacs is trained by the
    trajectory balance of Kim et al. (2024), with their settings by default.
    """
    from pydantic import ValidationError

    from decost.learn.config import AntsConfig, TrainConfig
    from decost.problem.validation import first_fault

    if kind not in (None, "gfacs"):
        raise InputError(f"{kind}: unexpected; what can be trained beside a network is gfacs")
    gfacs = kind == "gfacs"
    command = "decost train gfacs" if gfacs else "decost train"
    schema: type[AntsConfig | TrainConfig] = AntsConfig if gfacs else TrainConfig
    given = given_options(context)
    if resume is not None and out is not None:
        raise InputError(f"--resume {resume}: a run goes on with its own settings and folder")
    try:
        config: Any = schema(**given)
    except ValidationError as error:
        raise InputError(first_fault(error, prefix="option ")) from None
    from decost.learn import runs, train, train_ants
    from decost.learn.crew import crew_size, joined

    module: Any = train_ants if gfacs or (resume and runs.is_for_ants(resume)) else train
    if crew_size() > 1 and (module is train_ants or (resume is None and out is None)):
        raise InputError("torchrun: several processes train a network, and need --out or --resume")
    with joined() as crew:
        _train(module, config, given, out, resume, cluster, crew, command)


def _train(
    module: Any,
    config: Any,
    given: dict[str, Any],
    out: Path | None,
    resume: Path | None,
    cluster: str | None,
    crew: Any,
    command: str,
) -> None:
    """Begin or take up a run, and go on with it to its end."""
    if resume is not None:
        training = module.resume_run(resume, **given)
    else:
        training = module.start_run(config, out if out is not None else _run_folder(config.seed))
    if cluster is not None and getattr(training.config, "teacher", "none") != "exact":
        raise InputError(
            f"--cluster {cluster}: workers grade for --teacher exact, and for no other"
        )
    if crew.first:
        _report_run(training)
    try:
        with workers_of(cluster) as found:
            more = {} if found is None else {"values_of": _values_on(found.executor)}
            if crew.size > 1:
                more["crew"] = crew
            # A teacher may take minutes over an instance: Ctrl-C does not wait for it.
            Aside(partial(module.train, training, _report_epoch, **more)).answer()
    except KeyboardInterrupt:
        if crew.first:
            typer.echo(f"go on with: {command} --resume {training.folder}", err=True)
        raise
    if not crew.first:
        return
    typer.echo(
        f"best gap {training.history[training.best]['gap']:.3f}% after epoch {training.best}"
    )
    typer.echo(f"wrote {training.folder / 'weights.safetensors'}")


def _values_on(executor: Executor) -> Any:
    from decost.cluster.grading import values_on

    return values_on(executor)


def _run_folder(seed: int) -> Path:
    from datetime import datetime

    return Path("runs") / f"{datetime.now():%Y-%m-%d-%H%M%S}-seed{seed}"


def _report_run(training: Any) -> None:
    typer.echo(f"run in {training.folder}")
    settings = training.config.model_dump().items()
    typer.echo("  ".join(f"{name}={value}" for name, value in settings))
    if training.done:
        typer.echo("the run is done")
        typer.echo("give more --epochs to make it longer")


def _report_epoch(training: Any) -> None:
    """Print one line about the epoch that is over, with the time that is left."""
    row = training.history[-1]
    words = [f"epoch {training.epoch}/{training.config.epochs}", f"gap {row['gap']:.3f}%"]
    if training.best != training.epoch:
        words.append(f"best {training.history[training.best]['gap']:.3f}%")
    words += [f"{name} {row[name]:.4g}" for name in ("profit", "loss", "regret") if name in row]
    if training.epoch:
        left = training.seconds / training.epoch * (training.config.epochs - training.epoch)
        if training.config.time_limit is not None:
            left = min(left, max(0.0, training.config.time_limit - training.seconds))
        words.append(f"{training.seconds:.0f} s, at most {duration(left)} left")
    typer.echo("  ".join(words))
