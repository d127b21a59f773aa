"""Tests of the benches: what they list, and their tables on tiny configurations or by hand."""

from __future__ import annotations

import csv
import math
import shutil
import statistics
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toys import made, proof

import decost
from decost.bench import (
    BenchError,
    cards,
    cold_start,
    curves,
    gaps,
    general,
    ils_time,
    list_benches,
    main,
    methods,
    op,
    optw,
    people,
    plug,
    rivals,
    scaling,
    solomon,
    stay_ratio,
    stays,
    team,
    time_profit,
    trips,
)
from decost.bench.contender import Contender, contenders
from decost.bench.instances import Setting
from decost.bench.measure import Measurement
from decost.bench.runner import run_bench
from decost.bench.schema import SCALES, Bench, Config, Folders, Row
from decost.method.options import Progress

SOLOMON = """{name}

VEHICLE
NUMBER     CAPACITY
  25         200

CUSTOMER
CUST NO.   XCOORD.   YCOORD.    DEMAND   READY TIME   DUE DATE   SERVICE TIME

    0      0         0          0          0       {due}          0
    1      3         4          10         0        50         10
    2      6         8          7          0        60         10
"""


def tables(bench: Bench[Any], config: Config, folders: Folders) -> list[list[dict[str, str]]]:
    """Run a bench with a tiny configuration, and give its tables."""
    text, *others = run_bench(replace(bench, quick=config), "quick", folders)
    assert text.suffix == ".md"
    assert [path.suffix for path in others if path.suffix != ".csv"] == [".png"] * bool(bench.draw)
    found = []
    for path in others:
        if path.suffix == ".csv":
            with path.open(newline="") as file:
                found.append(list(csv.DictReader(file)))
    return found


def run(bench: Bench[Any], config: Config, folders: Folders) -> list[dict[str, str]]:
    """Run a bench that has one table."""
    (table,) = tables(bench, config, folders)
    return table


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Give a folder with two files as Solomon's are, R101 and C205, and one to leave alone."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name, due in (("R101", 100), ("C205", 40)):
        (folder / f"{name}.txt").write_text(SOLOMON.format(name=name, due=due))
    (folder / "notes.md").write_text("other")
    return folder


PROVED = [
    one
    for one in list_benches()
    if one.name not in ("op", "optw", "teams", "trips", "rivals", "peers", "stays")
]
"""Benches whose gaps are to a proof, and those that measure nothing."""


LISTED = [one for one in list_benches() if one.name != "peers"]
"""All but the one that needs other people's planners."""


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("bench", LISTED, ids=lambda one: one.name)
def test_tasks_are_listed(bench: Bench[Any], scale: str, tmp_path: Path, files: Path) -> None:
    """Every bench lists tasks at both scales: no row twice, and a proof for each instance."""
    others = {"files": "*"} if bench.name in ("op", "optw", "teams") else {}
    config = bench.config(scale, **others)
    tasks = bench.tasks(config, Folders(tmp_path / "out", files))
    keys = [key for task in tasks for key in task.keys]
    assert len(keys) == len(set(keys))
    assert (len(keys) > 0) == (bench.name not in ("cards", "curves", "time-profit"))
    if bench in PROVED and bench.name != "cold-start":
        proven = {key[:2] for key in keys if key.contender == config.prover}
        assert {key[:2] for key in keys} == proven
    assert config.reduced
    assert bench.title
    assert not (tmp_path / "out").exists()


def test_gaps_shares_its_rows_with_main() -> None:
    """Every task of gaps is one of main, so that its rows are measured once for both."""
    for scale in SCALES:
        ours, theirs = (
            {task.keys for task in one.tasks(one.config(scale), Folders(Path()))}
            for one in (gaps.BENCH, main.BENCH)
        )
        assert set() < ours < theirs


TINY_MAIN = Config(
    methods=contenders("greedy, milp, search iterations=50, decost, exact, auto"),
    settings=(Setting(50, 100), Setting(20, 500, most=4)),
    count=8,
    slow=("milp",),
    slow_count=2,
)


def test_main_exact_has_no_gap_and_proves_all(tmp_path: Path, data: Path) -> None:
    """The optimum is proven on all, equals HiGHS's and, where it is published, Gurobi's."""
    table = run(main.BENCH, TINY_MAIN, Folders(tmp_path))
    lines = {(line["setting"], line["method"]): line for line in table}
    names = ["greedy", "milp", "search iterations=50", "decost (our network)", "exact", "auto"]
    assert list(lines) == [(one.name, name) for one in TINY_MAIN.settings for name in names]
    for setting in TINY_MAIN.settings:
        exact = lines[setting.name, "exact"]
        count = str(setting.size(8))
        names = ("gap (%)", "instances", "at optimum", "proven by it", "optima proven")
        assert [exact[name] for name in names] == ["0.00", count, count, count, count]
        assert exact["score"] == exact["optimum"]
        milp = lines[setting.name, "milp"]
        assert [milp[name] for name in names] == ["0.00", "2", "2", "2", "2"]
        assert float(lines[setting.name, "greedy"]["gap (%)"]) > 1
    with np.load(data / "paper_n50_tw100.npz") as known:
        assert float(lines["n=50, TW=100", "exact"]["score"]) == pytest.approx(
            known["gurobi"][:8].mean(), abs=1e-3
        )
    paper = lines["n=50, TW=100", "decost (our network)"]
    names = ("paper's score", "paper's gap (%)", "paper's time (ms)", "batch")
    assert [paper[name] for name in names] == ["15.1", "1.06", "94.0", "8"]
    written = (tmp_path / "main-quick.md").read_text().splitlines()
    shown = [line for line in written if "| exact |" in line]
    assert len(shown) == 2
    assert all("| 0.00% |" in line for line in shown)


def test_times_are_compared_on_the_same_instances() -> None:
    """A slow method that has the first instance alone is compared with its proof, not with all."""
    seconds = {("exact", 0): 0.5, ("exact", 1): 8.0, ("milp", 0): 3.0}
    rows = [
        proof(instance) | {"contender": Contender.of(method), "seconds": time}
        for (method, instance), time in seconds.items()
    ]
    config = Config(methods=contenders("milp, exact"), settings=(Setting(20),))
    table = main.summarise(config, rows)[""]
    assert [line["time by exact's"] for line in table] == ["6.00", "1.00"]


def test_gaps_are_distributed_as_numpy_says(tmp_path: Path) -> None:
    """Quartiles of greedy's gaps, from plans made here and now."""
    config = TINY_MAIN.model_copy(update={"methods": contenders("greedy")})
    table = run(gaps.BENCH, config, Folders(tmp_path))
    instances = Setting(50, 100).instances(8)
    missed = [
        100 * (1 - decost.solve(one, "greedy").profit / decost.solve(one, "exact").profit)
        for one in instances
    ]
    # Only one of the two settings is among the four of the paper.
    assert [line["setting"] for line in table] == ["all", "n=50, TW=100"]
    for line in table:
        assert float(line["mean (%)"]) == pytest.approx(np.mean(missed), abs=6e-4)
        assert float(line["std (%)"]) == pytest.approx(np.std(missed), abs=6e-4)
        for name, percent in (("min", 0), ("q25", 25), ("median", 50), ("q75", 75), ("max", 100)):
            expected = np.percentile(missed, percent)
            assert float(line[f"{name} (%)"]) == pytest.approx(expected, abs=6e-4)
    assert table[0]["paper's mean (%)"] == "15.904"


def test_solomon_by_hand(tmp_path: Path, files: Path) -> None:
    """Stays are from 10 to 40 long and earn the demand; both files are worked out by hand.

    R101: home is 10 from the second stop, so that 80 of 100 are left for stays: 40 at each, and
    17 * 40 = 680. C205: the two ways take 20 of 40, so 20 are left, 10 at each stop (170), or,
    at the first stop alone, 30 of 30 (300).
    """
    config = solomon.SolomonConfig(
        methods=contenders("exact time_limit=9, greedy"),
        prover=Contender.of("exact", time_limit=9),
    )
    table = run(solomon.BENCH, config, Folders(tmp_path, files))
    scores = {line["files"]: line["score"] for line in table if line["method"] != "greedy"}
    assert scores == {"all": "490.0000", "C2": "300.0000", "R1": "680.0000"}


def test_solomon_is_split() -> None:
    """29 files to train on and ten others to test on, all of them Solomon's."""
    trained, tested = set(solomon.TRAINED), set(solomon.TESTED)
    assert (len(trained), len(tested), trained & tested) == (29, 10, set())
    sizes = {"c1": 9, "c2": 8, "r1": 12, "r2": 11, "rc1": 8, "rc2": 8}
    for name in trained | tested:
        assert 1 <= int(name[-2:]) <= sizes[name[:-2]]
    assert {name[:-2] for name in tested} == set(sizes) == {name[:-2] for name in trained}


def test_solomon_compares_with_the_network() -> None:
    """Over all files ils earns 8 on average and the network 5, in class R1 6 and 8."""
    profits = {"ils": (10, 6), "decost": (2, 8)}
    files = ("C201 1a", "R101 2b")
    rows = [proof(name, "Solomon") for name in files]
    rows += [
        made(method, name, profit, "Solomon")
        for method, pair in profits.items()
        for name, profit in zip(files, pair, strict=True)
    ]
    config = solomon.SolomonConfig(methods=contenders("ils, decost"))
    lines = solomon.summarise(config, rows)[""]
    names = ("method", "files", "over decost (%)")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("ils", "all", "60.00"),
        ("ils", "C2", "400.00"),
        ("ils", "R1", "-25.00"),
        ("decost (our network)", "all", "0.00"),
        ("decost (our network)", "C2", "0.00"),
        ("decost (our network)", "R1", "0.00"),
    ]
    alone = config.model_copy(update={"methods": contenders("ils")})
    assert {line["over decost (%)"] for line in solomon.summarise(alone, rows[:4])[""]} == {""}


def test_all_sets_weigh_the_same() -> None:
    """The line for all sets has two instances of each: the first two, where a set has four.

    By hand: greedy misses 10, 20, 30 and 40% in the one and 50 and 60% in the other set, so 35%
    of the first two of each; ils, which has no more than three of the first set, 10% of all.
    """
    small, large = "n=50, TW=100", "n=500, TW=100"
    rows = [proof(k, small) for k in range(4)] + [proof(k, large) for k in range(2)]
    rows += [made("greedy", k, 9 - k, small) for k in (3, 2, 1, 0)]
    rows += [made("greedy", k, 5 - k, large) for k in range(2)]
    rows += [made("ils", k, 9, small) for k in range(3)]
    rows += [made("ils", k, 9, large) for k in range(2)]
    lines = gaps.summarise(Config(methods=contenders("greedy, ils")), rows)[""]
    names = ("method", "setting", "instances", "mean (%)", "max (%)")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("greedy", "all", "4", "35.000", "60.000"),
        ("greedy", small, "4", "25.000", "40.000"),
        ("greedy", large, "2", "55.000", "60.000"),
        ("ils", "all", "4", "10.000", "10.000"),
        ("ils", small, "3", "10.000", "10.000"),
        ("ils", large, "2", "10.000", "10.000"),
    ]


def test_another_file_is_measured_anew(tmp_path: Path, files: Path) -> None:
    """Rows of a file are not taken for those of another one with the same name."""
    config = solomon.SolomonConfig(methods=contenders("exact"))
    first = run(solomon.BENCH, config, Folders(tmp_path, files))
    (files / "R101.txt").write_text(SOLOMON.format(name="R101", due=40))
    second = run(solomon.BENCH, config, Folders(tmp_path, files))
    assert [line["score"] for line in first] == ["490.0000", "300.0000", "680.0000"]
    assert [line["score"] for line in second] == ["300.0000"] * 3


def test_ils_time_looks_at_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each limit the profit is what had been found until then, and 0 before anything."""
    news = [Progress(1.5, 3.0, None), Progress(4.0, 5.0, None), Progress(9.0, 8.0, None)]
    row = {"profit": 8.0, "reached": 9.0, "seconds": 10.0, "status": "feasible", "bound": None}

    def measure(contender: Contender, instance: object) -> Measurement:
        assert contender == Contender.of("ils", seed=3, time_limit=10)
        return Measurement(row, None, news)  # type: ignore[arg-type]

    monkeypatch.setattr(ils_time, "measure", measure)
    rows = ils_time._look(Contender.of("ils", seed=3), partial(list, [None]), 0, (1, 2, 5, 10))
    assert [one["profit"] for one in rows] == [0.0, 3.0, 5.0, 8.0]
    assert [one["reached"] for one in rows] == [0.0, 1.5, 4.0, 9.0]
    assert [one["seconds"] for one in rows] == [1.0, 2.0, 5.0, 10.0]


def test_ils_time_on_an_instance(tmp_path: Path) -> None:
    """More time is never worse; others stand beside it, with the paper's figures."""
    config = ils_time.IlsTimeConfig(
        methods=contenders("ils"), settings=(Setting(50, 100),), count=1, limits=(0, 1)
    )
    table = run(ils_time.BENCH, config, Folders(tmp_path))
    names = ["ils time_limit=0", "ils time_limit=1", "decost (our network)", "exact"]
    assert [line["method"] for line in table] == names
    missed = [float(line["gap (%)"]) for line in table]
    assert missed[0] >= missed[1]
    assert missed[3] == 0.0
    assert [line["paper's gap (%)"] for line in table] == ["", "", "1.06", ""]
    assert [line["paper's time (ms)"] for line in table] == ["", "", "94.0", ""]
    with pytest.raises(decost.MethodError, match="without time_limit"):
        ils_time.list_tasks(
            config.model_copy(update={"methods": contenders("ils time_limit=5")}), Folders(tmp_path)
        )


def test_team_optima_are_proven(tmp_path: Path) -> None:
    """Columns proves its plans for three vehicles; more vehicles earn more than one."""
    config = Config(
        methods=contenders("greedy, columns"),
        prover=Contender.of("columns"),
        settings=(Setting(40, 100, 3),),
        count=2,
    )
    greedy, columns = run(team.BENCH, config, Folders(tmp_path))
    names = ("gap (%)", "proven by it", "optima proven")
    assert [columns[name] for name in names] == ["0.00", "2", "2"]
    assert float(greedy["score"]) < float(columns["score"])
    alone = [decost.solve(one, "exact").profit for one in Setting(40, 100).instances(2)]
    assert float(columns["score"]) > np.mean(alone)


def test_fixed_stays_by_hand() -> None:
    """Stage one has 40% of the longest stay, for all of its profit."""
    instance = decost.Instance(
        budget=10, xy=[[0, 0], [1, 0], [2, 0]], rate=[0, 3, 1], max_stay=[0, 4, 9]
    )
    fixed = stay_ratio.fixed_stays(instance, 0.4)
    assert fixed.problem == "OP"
    assert fixed.reward.tolist() == [0, 12, 9]
    assert fixed.min_stay.tolist() == pytest.approx([0, 1.6, 3.6])
    assert fixed.max_stay.tolist() == fixed.min_stay.tolist()


def test_stay_ratio_stages(tmp_path: Path) -> None:
    """Gaps of both stages are those of plans that are made here, one stage after the other."""
    config = stay_ratio.StayRatioConfig(
        methods=contenders("exact"), settings=(Setting(50, 100),), count=3, percents=(0, 70)
    )
    table = run(stay_ratio.BENCH, config, Folders(tmp_path))
    for share in (0, 70):
        missed = []
        for one in Setting(50, 100).instances(3):
            first = one.replace(
                reward=one.full_profit,
                pieces=[[]] * one.nodes,
                min_stay=share / 100 * (one.close - one.open),
            )
            route = decost.solve(first, "exact").solution.routes[0].stops
            profit = float(decost.optimal_stays(one, [route]).profit[0])
            missed.append(100 * (1 - profit / decost.solve(one, "exact").profit))
        lines = [line for line in table if line["stays (%)"] == str(share)]
        assert len(lines) == 2
        for line in lines:
            assert float(line["mean (%)"]) == pytest.approx(np.mean(missed), abs=6e-3)
            assert line["proven in stage one"] == "3"
    assert {line["paper's mean (%)"] for line in table} == {"", "3.87"}


def test_scaling_has_a_line_for_each_size(tmp_path: Path) -> None:
    """Every kind, size and method has its line, in this order, with optima proven."""
    config = Config(
        methods=contenders("greedy, exact"),
        settings=(Setting(11), Setting(31), Setting(9, family="mixed")),
        count=2,
    )
    table = run(scaling.BENCH, config, Folders(tmp_path))
    sizes = (("paper, TW=100", "10"), ("paper, TW=100", "30"), ("mixed, TW=100", "8"))
    assert [(line["instances of"], line["stops"], line["method"]) for line in table] == [
        (*size, method) for size in sizes for method in ("greedy", "exact")
    ]
    assert {line["optima proven"] for line in table} == {"2"}
    assert {line["gap (%)"] for line in table if line["method"] == "exact"} == {"0.00"}


def test_methods_by_hand() -> None:
    """Of two instances that can earn 10, ils earns 10 and 6: a mean gap of 20%, half optimal."""
    rows = [proof(0), proof(1), made("ils", 0, 10.0), made("ils", 1, 6.0, load=2.04)]
    config = Config(methods=contenders("ils"), settings=(Setting(20),))
    (line,) = methods.summarise(config, rows)[""]
    assert list(line.values())[1:] == [
        *("ils", "20.000%", "20.000%", "40.00%", "50%", "8.0000", "500", "2.0")
    ]


def test_stage_two_is_plugged_in(tmp_path: Path) -> None:
    """Greedy's own stays, then optimal ones on its routes, as `optimal_stays` says here and now."""
    config = plug.BENCH.quick.model_copy(
        update={"methods": contenders("greedy"), "settings": (Setting(50, 500),), "count": 3}
    )
    (line,) = run(plug.BENCH, config, Folders(tmp_path))
    missed = []
    for one in Setting(50, 500).instances(3):
        plan = decost.solve(one, "greedy", stays="greedy")
        routes = [route.stops for route in plan.solution.routes]
        mended = float(decost.optimal_stays(one, routes).profit.sum())
        best = decost.solve(one, "exact").profit
        missed.append((1 - plan.profit / best, 1 - mended / best))
    expected = [f"{100 * gap:.2f}%" for gap in np.mean(missed, axis=0)]
    assert [line[name] for name in plug.HEADINGS[:2]] == expected
    with pytest.raises(BenchError, match="method 'exact': choose from: greedy, ils, gfacs, pomo"):
        plug.list_tasks(
            config.model_copy(update={"methods": contenders("exact")}), Folders(tmp_path)
        )


def test_stays_are_those_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profits are those of HiGHS, and both tables hold what the page needs."""
    monkeypatch.setattr(stays, "BATCH", 5)
    monkeypatch.setattr(stays, "SIZES", (2, 8))
    (line,), kernels = tables(stays.BENCH, stays.StaysConfig(routes=10), Folders(tmp_path))
    assert 0 < int(line["routes"]) <= 10
    assert float(line["largest relative difference"]) < 1e-9
    assert [line["stops"] for line in kernels] == ["2", "8"]
    assert all(float(line["ratio"]) > 0 for line in kernels)


def test_a_cold_start_needs_its_instance(tmp_path: Path) -> None:
    """A file that is not there is named before anything is compiled."""
    config = cold_start.ColdStartConfig(file=tmp_path / "none.json")
    with pytest.raises(BenchError, match=r"none\.json: is no file"):
        cold_start.list_tasks(config, Folders(tmp_path))


def test_the_worked_example_is_the_pages(tmp_path: Path) -> None:
    """The functions that docs/time-profit.md works out by hand."""
    table = run(time_profit.BENCH, Config(), Folders(tmp_path))
    found = {line["what"]: line["(time, profit)"] for line in table}
    page = (Path(__file__).resolve().parents[2] / "docs" / "time-profit.md").read_text()
    for name, text in (
        ("on leaving B", "(10, 6), (12, 16), (14, 20), (18, 24)"),
        ("from B on", "(10, 23), (11, 20), (12, 15)"),
        ("A, B, C", "29, gain +0, stays 3, 2, 4"),
        ("without B", "28, gain -1, stays 6, 5"),
        ("with D between A and B", "33, gain +4, stays 1, 2, 2, 4"),
    ):
        assert found[name] == text
    for visited in ("A and B", "A", "B"):
        line = f"| {visited.replace(' and', ',')} | {found[f'at C after {visited}']} |"
        assert line in page


def test_curves_are_means_over_epochs(tmp_path: Path) -> None:
    """By hand: a line for every second epoch, with the mean over two, and none for epoch 0."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("epoch,gap,stay_share\n0,60,\n1,10,0.5\n2,8,0.25\n3,7,0.1\n4,5,0.05\n")
    second.write_text("epoch,gap\n0,60\n1,12\n2,9\n")
    runs = (f"one={first}", f"other={second}", f"on={second}+{first}")
    config = curves.CurvesConfig(runs=runs, episodes=100, every=2, last=2)
    lines = run(curves.BENCH, config, Folders(tmp_path))
    assert [tuple(line.values()) for line in lines] == [
        ("one", "2", "200", "9.00", "38"),
        ("one", "4", "400", "6.00", "7.5"),
        ("other", "2", "200", "10.50", ""),
        ("on", "2", "200", "10.50", ""),
        ("on", "4", "400", "9.00", "38"),
        ("on", "6", "600", "6.00", "7.5"),
    ]
    with pytest.raises(BenchError, match="--runs x: is not like NAME=FILE"):
        curves.read_histories(config.model_copy(update={"runs": ("x",)}))


def test_gaps_are_put_on_a_card(tmp_path: Path) -> None:
    """The card of a copy of our weights has the gaps of a table; another method is named."""
    from decost.inference.weights import find_weights, read_card

    weights = shutil.copy(find_weights("generalist"), tmp_path / "copy.safetensors")
    table = tmp_path / "main.csv"
    table.write_text("setting,method,gap (%)\na,x y=1,0.5\nb,x y=1,7\nb,z,9\n")
    config = cards.CardsConfig(weights=str(weights), table=table, gaps=("other=x y=1",))
    lines = run(cards.BENCH, config, Folders(tmp_path))
    assert [tuple(line.values()) for line in lines] == [
        ("other", "a", "0.5%"),
        ("other", "b", "7%"),
    ]
    card = read_card(Path(weights))
    assert card["other"] == {"a": "0.5%", "b": "7%"}
    assert card["command"] == read_card(find_weights("generalist"))["command"]
    wrong = config.model_copy(update={"gaps": ("other=none",)})
    with pytest.raises(BenchError, match="has no method 'none'"):
        cards.write_card(wrong, [])


def file_row(
    file: str, profit: float, bound: float | None, seconds: float, vehicles: int = 1
) -> Row:
    """Make a row of a public file."""
    setting = f"{vehicles} vehicle{'s' * (vehicles > 1)}"
    proven = {"status": "optimal" if profit == bound else "feasible", "seconds": seconds}
    return made("exact", f"{file} 1a2b", profit, setting, bound=bound, **proven)


def test_optw_counts_what_is_known(tmp_path: Path) -> None:
    """Optima that are met, lower bounds that are beaten, met and missed; gaps by hand."""
    known = tmp_path / "known.csv"
    known.write_text(
        "instance,profit,status\nc101,320,optimal\n"
        "c201,80,lower bound\nc202,80,lower bound\nc203,80,lower bound\n"
    )
    rows = [
        file_row("c101", 320, 320, 1.0),
        file_row("c201", 90, 100, 2.0),
        file_row("c202", 80, 100, 3.0),
        file_row("c203", 60, 100, 6.0),
    ]
    found = optw.summarise(optw.OptwConfig(known=known), rows)
    assert [line["published seconds"] for line in found[""]] == ["0.07", "", "", ""]
    optimal, lower, every = found["summary"]
    assert (optimal["files"], optimal["proven"], optimal["known reached"]) == ("optimal", "1", "1")
    counts = [lower[f"known {how}"] for how in ("beaten", "reached", "not reached")]
    assert counts == ["1", "1", "1"]
    assert (lower["mean gap"], lower["mean gap to known"]) == ("23.333%", "4.167%")
    assert (every["number"], every["bound reached"]) == ("4", "1")
    assert (every["mean gap"], every["largest gap"]) == ("17.500%", "40.00%")
    times = [every[f"{which} seconds"] for which in ("total", "median", "most")]
    assert times == ["12.0", "2.50", "6.00"]


@pytest.mark.parametrize(
    ("row", "known", "complaint"),
    [
        (file_row("c101", 330, 330, 1.0), "320,optimal", "earns 330, above the optimum"),
        (file_row("c101", 300, 310, 1.0), "320,lower bound", "has the bound 310, below 320"),
        (file_row("c101", 300, 290, 1.0), "290,lower bound", "earns 300, above its own 290"),
        (file_row("c101", 300, 300, 1.0), "much,optimal", "line 2: could not convert"),
    ],
)
def test_disagreement_with_what_is_known(
    tmp_path: Path, row: Row, known: str, complaint: str
) -> None:
    """A plan above a proven optimum, or a bound below a known profit, is an error."""
    path = tmp_path / "known.csv"
    path.write_text(f"instance,profit,status\nc101,{known}\n")
    with pytest.raises(BenchError, match=complaint):
        optw.summarise(optw.OptwConfig(known=path), [row])


def test_op_stands_beside_what_is_published(tmp_path: Path) -> None:
    """Gaps of our plan and of others to the best known, by hand; sizes are summed up apart."""
    known = tmp_path / "known.csv"
    known.write_text(
        "instance,nodes,best,status,ea4op,alns\n"
        "att48,48,200,optimal,190,200\neil51,51,100,optimal,99,98\nbig,500,1000,best known,,\n"
    )
    rows = [
        made("search", "att48 1a", 200, "n <= 400", bound=None, status="feasible", seconds=1.0),
        made("search", "eil51 2b", 97, "n <= 400", bound=97, status="optimal", seconds=2.0),
        made("search", "big 3c", 1010, "n > 400", bound=None, status="feasible", seconds=4.0),
    ]
    with pytest.raises(BenchError, match="eil51: search has the bound 97, below 100"):
        op.summarise(op.OpConfig(known=known), rows)
    rows[1] |= {"bound": None, "status": "feasible"}
    found = op.summarise(op.OpConfig(known=known), rows)
    lines = [[line[name] for name in ("gap", "EA4OP", "ALNS")] for line in found[""]]
    assert lines == [
        ["0.00%", "5.00%", "0.00%"],
        ["3.00%", "1.00%", "2.00%"],
        ["-1.00%", "", ""],
    ]
    small, large = found["summary"]
    assert (small["files"], small["number"], small["best reached"]) == ("n <= 400", "2", "1")
    assert (small["mean gap"], small["largest gap"]) == ("1.500%", "3.00%")
    assert (small["mean gap of EA4OP"], small["mean gap of ALNS"]) == ("3.000%", "1.000%")
    assert (large["mean gap"], large["mean gap of EA4OP"]) == ("-1.000%", "")
    rows[0] |= {"profit": 201}
    with pytest.raises(BenchError, match="att48: search earns 201, above the optimum"):
        op.summarise(op.OpConfig(known=known), rows)


def test_large_files_take_longer(tmp_path: Path) -> None:
    """A file with more stops than `large` has the limit `longer` times over, the others not."""
    for name, size in (("small", 3), ("wide", 4)):
        rows = "".join(f"{k} {k} 0\n" for k in range(size + 2))
        (tmp_path / f"{name}.txt").write_text(f"9 1\n{rows}")
    config = op.OpConfig(methods=contenders("search time_limit=2"), large=3, longer=2.5)
    tasks = op.list_tasks(config, Folders(tmp_path, tmp_path))
    limits = {task.keys[0].instance.split()[0]: task.expected for task in tasks}  # type: ignore[union-attr]
    assert limits == {"small": 2.0, "wide": 5.0}


def test_optw_claims_nothing_without_a_bound() -> None:
    """A method that proves nothing has no gap, rather than one of 100%."""
    (line,) = optw.summarise(optw.OptwConfig(), [file_row("c101", 320, None, 1.0)])["summary"]
    assert line["files"] == "all"
    assert line["mean gap"] == line["bound reached"] == line["known beaten"] == ""


def test_files_are_summed_up_by_class_and_vehicles() -> None:
    """Classes in their order, and vehicles by number; means by hand, and a line for all."""
    rows = [
        file_row("c101", 90, 100, 1.0, 10),
        file_row("c101", 50, 50, 1.0, 2),
        file_row("c102", 30, 40, 1.0, 2),
        file_row("rc101", 10, 10, 1.0, 2),
    ]
    lines = optw.summarise(optw.OptwConfig(vehicles=(2, 10)), rows)["classes"]
    names = ("files", "vehicles", "number", "proven", "mean profit", "mean gap", "largest gap")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("c1*", "2", "2", "1", "40.0", "12.500%", "25.00%"),
        ("c1*", "10", "1", "0", "90.0", "10.000%", "10.00%"),
        ("rc1*", "2", "1", "1", "10.0", "0.000%", "0.00%"),
        ("all", "2, 10", "4", "2", "45.0", "8.750%", "25.00%"),
    ]


def test_methods_are_compared_on_files(tmp_path: Path) -> None:
    """Gaps to the best plan of any method, or to what is known, by hand."""
    known = tmp_path / "known.csv"
    known.write_text("instance,profit,status\nc101,100,lower bound\nr101,10,lower bound\n")
    rows = [
        made(method, file, profit, "1 vehicle", bound=None, seconds=0.25)
        for method, file, profit in (
            *(("greedy", "c101", 80), ("greedy", "c102", 50), ("greedy", "r101", 20)),
            *(("search", "c101", 95), ("search", "c102", 40), ("search", "r101", 15)),
        )
    ]
    config = optw.OptwConfig(methods=contenders("greedy, search"), known=known)
    lines = optw.summarise(config, rows)["methods"]
    names = ("method", "files", "number", "gap to the best (%)", "largest gap (%)", "time (ms)")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("greedy", "c1*", "2", "10.00", "20.00", "250"),
        ("greedy", "r1*", "1", "0.00", "0.00", "250"),
        ("search", "c1*", "2", "12.50", "20.00", "250"),
        ("search", "r1*", "1", "25.00", "25.00", "250"),
        ("greedy", "all", "3", "6.67", "20.00", "250"),
        ("search", "all", "3", "16.67", "25.00", "250"),
    ]


def test_a_public_file_is_solved(tmp_path: Path, data: Path) -> None:
    """One file from reading to the summary: the published optimum, proven."""
    config = optw.OptwConfig(
        methods=contenders("exact time_limit=60"),
        files=("R101",),
        known=data / "optw_best_known.csv",
    )
    (line,), summary, _ = tables(optw.BENCH, config, Folders(tmp_path, data / "optw"))
    assert [line[name] for name in ("file", "profit", "bound", "gap")] == [
        *("r101", "198", "198", "0.00%")
    ]
    assert [(one["files"], one["known reached"]) for one in summary] == [
        ("optimal", "1"),
        ("all", "1"),
    ]


def rival(
    family: str, instance: str, method: str, profit: float, limit: float = 1, **others: Any
) -> Row:
    """Make a row of rivals as a run would."""
    contender = Contender.parse(method).having(time_limit=limit)
    return made("", instance, profit, family, contender=contender, **others)


def compared(rows: list[Row], names: str, limit: float = 1) -> tuple[list[Any], list[Any]]:
    """Give both tables of rivals, as lists of cells."""
    config = rivals.RivalsConfig(methods=contenders(names), count=1, time_limit=limit)
    found = rivals.summarise(config, rows)
    return tuple([list(line.values()) for line in table] for table in found.values())  # type: ignore[return-value]


def test_rivals_count_every_seed() -> None:
    """Seeds of a method are averaged, and the best of all is what it is measured against."""
    listed = rivals.with_seeds(contenders("exact, ils, search begin=decost"), 2)
    names = ["exact", "ils", "ils seed=1", "search begin=decost", "search begin=decost seed=1"]
    assert list(map(str, listed)) == names
    rows = [rival("A", "a", "ils", 5.0), rival("A", "a", "ils seed=1", 7.0)]
    table, _ = compared([*rows, rival("A", "a", "auto", 10.0)], "ils, auto")
    assert table[0] == ["A", "1", "0", "40.000%", "0.000%"]


def test_rivals_have_a_mean_of_all() -> None:
    """Families count alike, whatever their size; a method that lacks one has no mean."""
    rows = [
        rival("A", "a", "ils", 5.0),
        rival("A", "a", "auto", 10.0, status="optimal"),
        rival("A", "a", "exact", 10.0, status="optimal"),
        rival("B", "a", "ils", 9.0),
        rival("B", "b", "ils", 10.0),
        rival("B", "a", "auto", 10.0),
        rival("B", "b", "auto", 10.0),
    ]
    table, _ = compared(rows, "ils, auto, exact")
    assert table == [
        ["A", "1", "1", "50.000%", "0.000%", "0.000%"],
        ["B", "2", "0", "5.000%", "0.000%", ""],
        ["mean of all", "3", "1", "27.500%", "0.000%", ""],
    ]


def test_rivals_are_compared_with_plans_of_other_limits(tmp_path: Path) -> None:
    """Alone in its limit a method may still be behind; where nothing can be earned nobody is.

    Rows of an earlier run with another limit are in the same file, and count.
    """
    rows = [
        rival("A", "a", "ils", 5.0),
        rival("B", "a", "ils", 0.0),
        rival("A", "a", "search", 10.0, 10),
        rival("A", "b", "search", 1.0, 10),
    ]
    short, _ = compared(rows, "ils, search")
    assert short[:2] == [["A", "1", "0", "50.000%", ""], ["B", "1", "0", "0.000%", ""]]
    long, _ = compared(rows, "ils, search", 10)
    assert long == [["A", "2", "0", "", "0.000%"], ["mean of all", "2", "0", "", "0.000%"]]
    config = rivals.RivalsConfig(
        methods=contenders("search iterations=50"), families=("mixed n=20",), count=1
    )
    tables(rivals.BENCH, config, Folders(tmp_path))
    other = config.model_copy(update={"methods": contenders("greedy"), "time_limit": 2.0})
    (line, *_), _ = tables(rivals.BENCH, other, Folders(tmp_path))
    assert (line["family"], line["instances"]) == ("mixed n=20", "1")
    assert float(line["greedy"].removesuffix("%")) > 1


def test_rivals_in_pairs() -> None:
    """Ahead by 10 and 30% in A, behind by 20% in B: by 6.667% on average, with its error."""
    rows = [
        *(rival("A", name, "auto", 10.0) for name in "ab"),
        *(rival("A", name, "ils", profit) for name, profit in (("a", 9.0), ("b", 7.0))),
        rival("B", "a", "auto", 8.0),
        rival("B", "a", "ils", 10.0),
        rival("B", "a", "exact", 10.0),
    ]
    _, table = compared(rows, "ils, auto, exact")
    of = {(line[0], line[1]): line[2:] for line in table}
    error = statistics.stdev([10.0, 30.0, -20.0]) / math.sqrt(3)
    ahead = ["2", "3", "6.667%", f"{error:.3f}%", "1", "1", "20.000%", "B", ""]
    assert of["auto", "ils"] == ahead
    assert of["ils", "auto"][2] == "-6.667%"
    assert of["ils", "auto"][6:] == ["20.000%", "A", "10.000%"]
    assert of["exact", "ils"] == ["1", "1", "0.000%", "", "0", "0", "0.000%", "", ""]
    assert len(table) == 6


def test_rivals_of_fewer_instances_are_the_first_of_more() -> None:
    """Rows of runs with other numbers of instances are about the same ones."""
    fewer, more = (
        list(rivals.families(rivals.RivalsConfig(count=count))) for count in (2, rivals.DRAWN)
    )
    for (family, names, source, _), (same, others, second, _) in zip(fewer, more, strict=True):
        assert (family, list(names)) == (same, list(others)[:2])
        if "TW=100" in family:  # to draw all published instances takes long
            continue
        for one, other in zip(source()[:2], second()[:2], strict=True):
            assert np.array_equal(one.travel, other.travel)
            assert np.array_equal(one.close, other.close)


def test_general(tmp_path: Path) -> None:
    """What plans miss of the proven optimum, worked out from their profits once more."""
    config = general.BENCH.config("quick", settings="20:100, 12:100:1:mixed", count="3")
    rows = run(general.BENCH, config, Folders(tmp_path))
    assert [row["proven"] for row in rows] == ["3"] * 6
    for setting, some in zip(config.settings, (rows[:3], rows[3:]), strict=True):
        instances = setting.instances(3)
        best = [decost.solve(one, method="exact").profit for one in instances]
        for row, options in zip(some, ({}, {"symmetries": False}, {}), strict=True):
            method = "greedy" if row["method"] == "greedy" else "decost"
            profits = [decost.solve(one, method=method, **options).profit for one in instances]
            missed = [100 * (1 - a / b) for a, b in zip(profits, best, strict=True)]
            assert float(row["gap (%)"]) == pytest.approx(sum(missed) / 3, abs=0.006)


def test_general_leaves_out_what_a_method_cannot_plan_for(tmp_path: Path) -> None:
    """`ils` plans for one vehicle without required stops: it has no line for people."""
    config = general.BENCH.config(
        "quick",
        settings="8:100, 6:100:2:people",
        count="2",
        methods="ils iterations=2, greedy",
        prover="search iterations=20",
    )
    rows = run(general.BENCH, config, Folders(tmp_path))
    assert [(row["setting"], row["method"]) for row in rows] == [
        ("n=8, TW=100", "ils iterations=2"),
        ("n=8, TW=100", "greedy"),
        ("people n=6, TW=100, 2 vehicles", "greedy"),
    ]


def test_people(tmp_path: Path) -> None:
    """Tiny instances are proven, and nothing is missed then; greedy proves nothing."""
    config = people.BENCH.config(
        "quick", settings="6:100:2:people", count="2", methods="auto time_limit=20, greedy"
    )
    proven, greedy = run(people.BENCH, config, Folders(tmp_path))
    decided = sum(int(proven[column]) for column in ("proven", "infeasible"))
    assert decided == int(proven["instances"]) == 2
    assert float(proven["largest gap (%)"]) == 0
    assert greedy["proven"] == "0"
    assert greedy["mean gap (%)"] == ""
    assert float(greedy["mean profit"]) <= float(proven["mean profit"])


def test_trips(tmp_path: Path) -> None:
    """Two sights by one or two days, of which one is closed on the first: by hand 5 and 12."""
    folder = tmp_path / "trips"
    folder.mkdir()
    weekdays = "0 20 " * 7
    rows = ["1 1 0 2 0", "0 0 0 0 0 0 20", f"1 3 4 1 5 1 {weekdays}0"]
    rows.append(f"2 -3 4 1 7 1 0 0 {'0 20 ' * 6}0")
    (folder / "t101.txt").write_text("\n".join(rows) + "\n")
    config = trips.BENCH.config("quick", vehicles="1, 2", methods="auto time_limit=5")
    table = tables(trips.BENCH, config, Folders(tmp_path, folder))[0]
    assert [(row["vehicles"], row["profit"], row["bound"]) for row in table] == [
        ("1", "5", "5"),
        ("2", "12", "12"),
    ]
