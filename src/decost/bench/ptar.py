"""Appendix B.6: what the pTAR loss gains, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from decost.bench import tables
from decost.bench.schema import Bench, Folders, Row, Tables, Task
from decost.bench.training import (
    TrainingConfig,
    training_tasks,
    variant,
)

WITHOUT, WITH = "without pTAR", "with pTAR"


def list_tasks(config: TrainingConfig, folders: Folders) -> list[Task]:
    """List the proofs of each size, and then the trainings without and with the loss."""
    variants = {label: {"ptar": label == WITH} for label in (WITHOUT, WITH)}
    return training_tasks(config, folders, variants)


def gained_and_added(
    gaps: tuple[float, float], times: tuple[float, float]
) -> tuple[float, float, float | None]:
    """Give the percentage of the gap that is gone, that of time that is added, and their quotient.

    Both arguments are pairs without and with the loss. The quotient is what the paper calls the
    pTAR efficiency, None if no time is added.
    """
    gained = 100 * (1 - gaps[1] / gaps[0]) if gaps[0] > 0 else 0.0
    added = 100 * (times[1] / times[0] - 1)
    return gained, added, gained / added if added > 0 else None


def summarise(config: TrainingConfig, rows: Sequence[Row]) -> Tables:
    """Make two lines for each size; the loss costs time in training alone."""
    groups = tables.grouped(tables.add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for setting in config.settings:
        pair = [groups[setting.name, variant(label)] for label in (WITHOUT, WITH)]
        gaps = (tables.mean(pair[0], "gap"), tables.mean(pair[1], "gap"))
        epochs = (
            tables.mean(pair[0], "epoch_cpu_seconds"),
            tables.mean(pair[1], "epoch_cpu_seconds"),
        )
        gained, added, efficiency = gained_and_added(gaps, epochs)
        ratio = "" if efficiency is None else f"{efficiency:.2f}"
        compared = {
            WITHOUT: ("", "", ""),
            WITH: (f"{gained:.1f}", f"{added:.1f}", ratio),
        }
        for label, some, gap, seconds in zip(compared, pair, gaps, epochs, strict=True):
            names = ("gap reduced (%)", "time added (%)", "pTAR efficiency")
            table.append(
                {
                    "setting": setting.name,
                    "training": label,
                    "trainings": str(config.seeds),
                    "instances": str(config.count),
                    "gap (%)": f"{gap:.2f}",
                    "CPU time of an epoch (s)": tables.digits(seconds),
                    "time (ms)": tables.digits(1e3 * tables.mean(some, "seconds")),
                    "batch": str(some[0]["batch"]),
                }
                | dict(zip(names, compared[label], strict=True))
                | tables.paper_columns("ptar", f"n={setting.nodes}", label)
            )
    return {"": table}


BENCH = Bench.load("ptar", __doc__, TrainingConfig, list_tasks, summarise)
