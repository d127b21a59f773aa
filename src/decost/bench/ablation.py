"""Table 3: spatial encoding (SE), stage two (STO) and the pTAR loss (SL), one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decost.bench import tables
from decost.bench.schema import Bench, Folders, Row, Tables, Task
from decost.bench.training import (
    TrainingConfig,
    over_seeds,
    training_tasks,
    variant,
)

VARIANTS: dict[str, dict[str, bool]] = {
    "baseline": {"spatial_encoding": False, "stay_optimisation": False, "ptar": False},
    "+ SE": {"stay_optimisation": False, "ptar": False},
    "+ SE + STO": {"ptar": False},
    "+ SE + STO + SL": {},
}


def list_tasks(config: TrainingConfig, folders: Folders) -> list[Task]:
    """List the proofs of each setting, and then the trainings."""
    return training_tasks(config, folders, VARIANTS)


def summarise(config: TrainingConfig, rows: Sequence[Row]) -> Tables:
    """Make a line for each setting and variant."""
    groups = tables.grouped(tables.add_gaps(rows, config.prover), "setting", "contender")
    table = []
    for setting in config.settings:
        for label in VARIANTS:
            some = groups[setting.name, variant(label)]
            gaps = over_seeds(some, "gap")
            table.append(
                {
                    "setting": setting.name,
                    "variant": label,
                    "seeds": str(len(gaps)),
                    "instances": str(len(some) // len(gaps)),
                    "score": f"{tables.mean(some, 'profit'):.4f}",
                    "optimum": f"{tables.mean(some, 'optimum'):.4f}",
                    "gap (%)": f"{np.mean(gaps):.2f}",
                    "std over seeds (%)": f"{np.std(gaps, ddof=1):.2f}" if len(gaps) > 1 else "",
                    "time (ms)": tables.digits(1e3 * tables.mean(some, "seconds")),
                    "batch": str(some[0]["batch"]),
                }
                | tables.paper_columns("ablation", f"TW={setting.window:g}", label)
            )
    return {"": table}


BENCH = Bench.load("ablation", __doc__, TrainingConfig, list_tasks, summarise)
