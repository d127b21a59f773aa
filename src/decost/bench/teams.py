"""TOPTW: public files with several vehicles, profit, bound and time."""

from __future__ import annotations

from decost.bench.optw import OptwConfig, list_tasks, summarise
from decost.bench.schema import Bench

BENCH = Bench.load("teams", __doc__, OptwConfig, list_tasks, summarise, data="KU Leuven's files")
