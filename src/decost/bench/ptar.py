"""Appendix B.6: what the pTAR loss gains, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from decost.bench.instances import setting_name
from decost.bench.runner import Bench, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, digits, grouped, mean, paper_columns
from decost.bench.training import SMALL, TrainingConfig, training_tasks, variant


class PtarConfig(TrainingConfig):
    """The sizes."""

    nodes: tuple[int, ...]
    window: float = 100
    remark: str = (
        "the efficiency is by the CPU time of an epoch, because the loss costs nothing afterwards; "
        "what its runtimes are of, the paper does not say"
    )


QUICK = PtarConfig(
    nodes=(20, 40),
    epochs=3,
    episodes=640,
    seeds=1,
    count=100,
    settings=SMALL,
    reduced=(
        "n=20 and 40 instead of 50 and 100; a network of 2 layers and width 64, trained on 3 "
        "epochs of 640 instances instead of 800 of 10,000, so that gaps are large"
    ),
)

FULL = PtarConfig(
    nodes=(50, 100),
    epochs=12,
    episodes=2560,
    seeds=2,
    count=1000,
    reduced="12 epochs of 2,560 instances instead of 800 of 10,000; 2 seeds",
)

WITHOUT, WITH = "without pTAR", "with pTAR"

NOTHING = ("", "", "")

# The paper's table in appendix B.6: gap in percent, runtime (without a unit), by how many percent
# the one is less and the other more, and the efficiency.
PAPER = {
    (50, WITHOUT): ("2.28", "21.48", *NOTHING),
    (50, WITH): ("1.06", "25.67", "53.5", "19.5", "2.74"),
    (100, WITHOUT): ("3.06", "45.71", *NOTHING),
    (100, WITH): ("1.22", "52.55", "60.1", "15.0", "4.0"),
}


def list_tasks(config: PtarConfig, folders: Folders) -> list[Task]:
    """List the proofs of each size, and then the trainings without and with the loss."""
    variants = {label: {"ptar": label == WITH} for label in (WITHOUT, WITH)}
    return [
        task
        for nodes in config.nodes
        for task in training_tasks(config, folders, nodes, config.window, variants)
    ]


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


def summarise(config: PtarConfig, rows: Sequence[Row]) -> Tables:
    """Make two lines for each size; the loss costs time in training alone."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for nodes in config.nodes:
        setting = setting_name(nodes, config.window)
        pair = [groups[setting, variant(label)] for label in (WITHOUT, WITH)]
        gaps = (mean(pair[0], "gap"), mean(pair[1], "gap"))
        epochs = (mean(pair[0], "epoch_cpu_seconds"), mean(pair[1], "epoch_cpu_seconds"))
        gained, added, efficiency = gained_and_added(gaps, epochs)
        compared = (
            f"{gained:.1f}",
            f"{added:.1f}",
            "" if efficiency is None else f"{efficiency:.2f}",
        )
        for label, some, gap, seconds in zip((WITHOUT, WITH), pair, gaps, epochs, strict=True):
            paper = PAPER.get((nodes, label))
            names = ("gap reduced (%)", "time added (%)", "pTAR efficiency")
            theirs = ("gap (%)", "runtime", *names)
            table.append(
                {
                    "setting": setting,
                    "training": label,
                    "trainings": str(config.seeds),
                    "instances": str(config.count),
                    "gap (%)": f"{gap:.2f}",
                    "CPU time of an epoch (s)": digits(seconds),
                    "time (ms)": digits(1e3 * mean(some, "seconds")),
                    "batch": str(some[0]["batch"]),
                }
                | dict(zip(names, compared if label == WITH else NOTHING, strict=True))
                | paper_columns(theirs, paper)
            )
    return {"": table}


BENCH = Bench(
    name="ptar",
    title="What the pTAR loss gains and costs",
    paper="The paper's appendix B.6",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
