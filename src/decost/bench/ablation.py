"""Table 3: spatial encoding (SE), stage two (STO) and the pTAR loss (SL), one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decost.bench.instances import setting_name
from decost.bench.runner import Bench, Folders, Row, Tables, Task
from decost.bench.tables import add_gaps, digits, grouped, mean, paper_columns
from decost.bench.training import SMALL, TrainingConfig, over_seeds, training_tasks, variant


class AblationConfig(TrainingConfig):
    """The size, and the windows."""

    nodes: int
    windows: tuple[float, ...] = (100, 500)


QUICK = AblationConfig(
    nodes=20,
    epochs=3,
    episodes=640,
    seeds=1,
    count=100,
    settings=SMALL,
    reduced=(
        "n=20 instead of 50; a network of 2 layers and width 64, trained on 3 epochs of 640 "
        "instances instead of 800 of 10,000, so that gaps are large"
    ),
)

FULL = AblationConfig(
    nodes=50,
    epochs=12,
    episodes=2560,
    seeds=3,
    count=1000,
    reduced="12 epochs of 2,560 instances instead of 800 of 10,000; 3 seeds",
)

VARIANTS: dict[str, dict[str, bool]] = {
    "baseline": {"spatial_encoding": False, "stay_optimisation": False, "ptar": False},
    "+ SE": {"stay_optimisation": False, "ptar": False},
    "+ SE + STO": {"ptar": False},
    "+ SE + STO + SL": {},
}

# The paper's Table 3 (n=50): score, gap in percent, and runtime in milliseconds.
PAPER = {
    100: {
        "baseline": ("11.3", "25.3", "46.6"),
        "+ SE": ("11.6", "23.0", "46.7"),
        "+ SE + STO": ("14.9", "2.28", "77.5"),
        "+ SE + STO + SL": ("15.1", "1.06", "94.0"),
    },
    500: {
        "baseline": ("31.3", "39.6", "40.7"),
        "+ SE": ("35.5", "31.2", "39.9"),
        "+ SE + STO": ("50.9", "1.88", "55.6"),
        "+ SE + STO + SL": ("51.4", "0.83", "60.4"),
    },
}


def list_tasks(config: AblationConfig, folders: Folders) -> list[Task]:
    """List the proofs of each setting, and then the trainings."""
    return [
        task
        for window in config.windows
        for task in training_tasks(config, folders, config.nodes, window, VARIANTS)
    ]


def summarise(config: AblationConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and variant."""
    groups = grouped(add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for window in config.windows:
        setting = setting_name(config.nodes, window)
        for label in VARIANTS:
            some = groups[setting, variant(label)]
            gaps = over_seeds(some, "gap")
            paper = PAPER.get(int(window), {}).get(label)
            names = ("score, n=50", "gap, n=50 (%)", "time, n=50 (ms)")
            table.append(
                {
                    "setting": setting,
                    "variant": label,
                    "seeds": str(len(gaps)),
                    "instances": str(len(some) // len(gaps)),
                    "score": f"{mean(some, 'profit'):.4f}",
                    "optimum": f"{mean(some, 'optimum'):.4f}",
                    "gap (%)": f"{np.mean(gaps):.2f}",
                    "std over seeds (%)": f"{np.std(gaps, ddof=1):.2f}" if len(gaps) > 1 else "",
                    "time (ms)": digits(1e3 * mean(some, "seconds")),
                    "batch": str(some[0]["batch"]),
                }
                | paper_columns(names, paper)
            )
    return {"": table}


BENCH = Bench(
    name="ablation",
    title="Spatial encoding, stage two and the pTAR loss one by one",
    paper="The paper's Table 3",
    scales={"quick": QUICK, "full": FULL},
    tasks=list_tasks,
    summarise=summarise,
)
