"""Tourist trips: public files with one to four days, profit, bound and time."""

from __future__ import annotations

from decost.bench.optw import OptwConfig, list_tasks, summarise
from decost.bench.schema import Bench

BENCH = Bench.load("trips", __doc__, OptwConfig, list_tasks, summarise, data="TTDP files")
