"""TOPTW: public files with several vehicles, profit, bound and time."""

from __future__ import annotations

from decost.bench.contender import contenders
from decost.bench.optw import OptwConfig, list_tasks, summarise
from decost.bench.runner import Bench

QUICK = OptwConfig(
    methods=contenders("columns time_limit=2"),
    files=("c101", "r101", "rc101", "pr01"),
    vehicles=(2, 3),
    reduced="4 files with 2 and 3 vehicles, 2 s each",
)

FULL = OptwConfig(
    methods=contenders("auto time_limit=60"),
    files=("c1*", "r1*", "rc1*", "pr0*", "pr10"),
    vehicles=(2, 3, 4),
    reduced="c1*, r1*, rc1* and pr01 to pr10 with 2, 3 and 4 vehicles, 60 s each",
)

BENCH = Bench("teams", __doc__, QUICK, FULL, list_tasks, summarise, data="KU Leuven's files")
