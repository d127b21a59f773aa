"""Tests of the experiments: what they list, and their tables on tiny configurations."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from decost.experiments import (
    ablation,
    gaps,
    ils_time,
    list_experiments,
    main,
    ptar,
    scaling,
    sensitivity,
    solomon,
    stay_ratio,
    team,
)
from decost.experiments.instances import paper_set
from decost.experiments.main import MainConfig, Setting
from decost.experiments.measure import Measured, read_words
from decost.experiments.runner import SCALES, Config, Experiment, Folders, Row, run_experiment
from decost.methods.options import Progress
from small_runs import TINY

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


def run(experiment: Experiment[Any], config: Config, folders: Folders) -> list[dict[str, str]]:
    """Run an experiment with a tiny configuration, and give its table."""
    tiny = replace(experiment, scales={"quick": config})
    paths = run_experiment(tiny, "quick", folders)
    assert all(path.stat().st_size > 100 for path in paths)
    assert [path.suffix for path in paths] == [".md", ".csv", ".png"][: 2 + bool(tiny.draw)]
    with paths[1].open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Give a folder with two files as Solomon's are, R101 and C205, and one to leave alone."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name, due in (("R101", 100), ("C205", 40)):
        (folder / f"{name}.txt").write_text(SOLOMON.format(name=name, due=due))
    (folder / "notes.md").write_text("other")
    return folder


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("experiment", list_experiments(), ids=lambda one: one.name)
def test_tasks_are_listed(
    experiment: Experiment[Any], scale: str, tmp_path: Path, files: Path
) -> None:
    """Every experiment lists tasks at both scales: no row twice, and a proof for each instance."""
    config = experiment.config(scale)
    tasks = experiment.tasks(config, Folders(tmp_path / "out", files))
    keys = [key for task in tasks for key in task.keys]
    assert len(keys) == len(set(keys)) > 0
    proven = {(key.setting, key.instance) for key in keys if key.method == config.prover}
    assert {(key.setting, key.instance) for key in keys} == proven
    assert config.reduced
    assert not (tmp_path / "out").exists()


def test_gaps_shares_its_rows_with_main() -> None:
    """Every task of gaps is one of main, so that its rows are measured once for both."""
    for scale in SCALES:
        ours, theirs = (
            {task.keys for task in one.tasks(one.config(scale), Folders(Path()))}
            for one in (gaps.EXPERIMENT, main.EXPERIMENT)
        )
        assert ours < theirs


TINY_MAIN = MainConfig(
    methods=("greedy", "milp", "search iterations=50", "decost", "exact", "auto"),
    settings=(Setting(50, 100, 8, 2), Setting(20, 500, 4, 2)),
)


def test_main_exact_has_no_gap_and_proves_all(tmp_path: Path, data: Path) -> None:
    """The optimum is proven on all, equals HiGHS's and, where it is published, Gurobi's."""
    table = run(main.EXPERIMENT, TINY_MAIN, Folders(tmp_path))
    lines = {(line["setting"], line["method"]): line for line in table}
    assert list(lines) == [
        (setting.name, words) for setting in TINY_MAIN.settings for words in TINY_MAIN.methods
    ]
    for setting in TINY_MAIN.settings:
        exact = lines[setting.name, "exact"]
        count = str(setting.count)
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
    paper = lines["n=50, TW=100", "decost"]
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
        {"setting": "n=50, TW=100", "instance": instance, "method": words, "seed": 0}
        | {"profit": 1.0, "bound": 1.0, "status": "optimal", "seconds": time}
        | {"reached": None, "batch": 1}
        for (words, instance), time in seconds.items()
    ]
    config = MainConfig(methods=("milp", "exact"), settings=(Setting(50, 100, 2, 1),))
    table = main.summarise(config, rows)
    assert [line["time by exact's"] for line in table] == ["6.00", "1.00"]


def test_gaps_are_distributed_as_numpy_says(tmp_path: Path) -> None:
    """Quartiles of greedy's gaps, from plans made here and now."""
    config = TINY_MAIN.model_copy(update={"methods": ("greedy",)})
    table = run(gaps.EXPERIMENT, config, Folders(tmp_path))
    instances = paper_set(50, 100, 8)
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
        methods=("exact time_limit=9", "greedy"), prover="exact time_limit=9"
    )
    table = run(solomon.EXPERIMENT, config, Folders(tmp_path, files))
    scores = {line["files"]: line["score"] for line in table if line["method"] != "greedy"}
    assert scores == {"all": "490.0000", "C2": "300.0000", "R1": "680.0000"}


def made_row(setting: str, instance: int | str, method: str, profit: float) -> Row:
    """Make a row of a plan that earns so much of 10."""
    found = {"profit": profit, "bound": 10.0, "status": "feasible", "seconds": 1.0}
    key = {"setting": setting, "instance": instance, "method": method, "seed": 0}
    return key | found | {"reached": None, "batch": 1}


def test_solomon_compares_with_the_network() -> None:
    """Over all files ils earns 8 on average and the network 5, in class R1 6 and 8."""
    profits = {"exact": (10, 10), "ils": (10, 6), "decost": (2, 8)}
    rows = [
        made_row("Solomon", name, method, profit)
        for method, pair in profits.items()
        for name, profit in zip(("C201 1a", "R101 2b"), pair, strict=True)
    ]
    config = solomon.SolomonConfig(methods=("ils", "decost"))
    lines = solomon.summarise(config, rows)
    assert [(line["method"], line["files"], line["over decost (%)"]) for line in lines] == [
        ("ils", "all", "60.00"),
        ("ils", "C2", "400.00"),
        ("ils", "R1", "-25.00"),
        ("decost", "all", "0.00"),
        ("decost", "C2", "0.00"),
        ("decost", "R1", "0.00"),
    ]
    alone = solomon.summarise(config.model_copy(update={"methods": ("ils",)}), rows[:4])
    assert [line["over decost (%)"] for line in alone] == ["", "", ""]


def test_gaps_over_all_sets_are_of_common_instances() -> None:
    """A method with more instances than another does not have easier sets weigh more."""
    profits = {("n=50, TW=100", 0): 9, ("n=50, TW=100", 1): 1, ("n=500, TW=100", 0): 5}
    rows = [made_row(*key, "exact", 10) for key in profits]
    rows += [made_row(*key, "greedy", profit) for key, profit in profits.items()]
    rows += [made_row(*key, "ils", 8) for key in profits if key[1] == 0]
    config = MainConfig(methods=("greedy", "ils"), settings=())
    lines = gaps.summarise(config, rows)
    assert [(line["setting"], line["instances"], line["mean (%)"]) for line in lines] == [
        ("all", "2", "30.000"),
        ("n=50, TW=100", "2", "50.000"),
        ("n=500, TW=100", "1", "50.000"),
        ("all", "2", "20.000"),
        ("n=50, TW=100", "1", "20.000"),
        ("n=500, TW=100", "1", "20.000"),
    ]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("milp solver=gurobi solver_threads=2 time_limit=9", "milp"),
        ("ils time_limit=10 seed=4", "ils"),
        ("gfacs stays=greedy", "gfacs stays=greedy"),
        ("ils roulette=false", "ils roulette=false"),
    ],
)
def test_counterparts(words: str, name: str) -> None:
    """Limits, seeds and solvers do not make another method; other options do."""
    assert main.counterpart(words) == name


def test_another_file_is_measured_anew(tmp_path: Path, files: Path) -> None:
    """Rows of a file are not taken for those of another one with the same name."""
    config = solomon.SolomonConfig(methods=("exact",))
    first = run(solomon.EXPERIMENT, config, Folders(tmp_path, files))
    (files / "R101.txt").write_text(SOLOMON.format(name="R101", due=40))
    second = run(solomon.EXPERIMENT, config, Folders(tmp_path, files))
    assert [line["score"] for line in first] == ["490.0000", "300.0000", "680.0000"]
    assert [line["score"] for line in second] == ["300.0000"] * 3


def test_ils_time_looks_at_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each limit the profit is what had been found until then, and 0 before anything."""
    news = [Progress(1.5, 3.0, None), Progress(4.0, 5.0, None), Progress(9.0, 8.0, None)]
    row = {"profit": 8.0, "reached": 9.0, "seconds": 10.0, "status": "feasible", "bound": None}

    def measure(words: str, instance: object) -> Measured:
        assert words == "ils seed=3 time_limit=10"
        return Measured(row, None, news)  # type: ignore[arg-type]

    monkeypatch.setattr(ils_time, "measure", measure)
    rows = ils_time._look("ils seed=3", partial(list, [None]), 0, (1, 2, 5, 10))
    assert [one["profit"] for one in rows] == [0.0, 3.0, 5.0, 8.0]
    assert [one["reached"] for one in rows] == [0.0, 1.5, 4.0, 9.0]
    assert [one["seconds"] for one in rows] == [1.0, 2.0, 5.0, 10.0]


def test_ils_time_on_an_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More time is never worse; others stand beside it, and the paper's figures at its limits."""
    known = {"ils time_limit=1": ("9", "8", "7", ""), "decost": ("6", "5", "", "4")}
    monkeypatch.setattr(ils_time, "PAPER", {"n=50, TW=100": known})
    config = ils_time.IlsTimeConfig(methods=("ils",), settings=((50, 100),), count=1, limits=(0, 1))
    table = run(ils_time.EXPERIMENT, config, Folders(tmp_path))
    assert [line["method"] for line in table] == [
        "ils time_limit=0",
        "ils time_limit=1",
        "decost",
        "exact",
    ]
    gaps = [float(line["gap (%)"]) for line in table]
    assert gaps[0] >= gaps[1]
    assert gaps[3] == 0.0
    assert [line["paper's gap (%)"] for line in table] == ["", "8", "5", ""]
    assert [line["paper's best after (ms)"] for line in table] == ["", "7", "", ""]
    assert [line["paper's time (ms)"] for line in table] == ["", "", "4", ""]
    with pytest.raises(decost.MethodError, match="without time_limit"):
        ils_time.list_tasks(
            config.model_copy(update={"methods": ("ils time_limit=5",)}), Folders(tmp_path)
        )


def test_team_optima_are_proven(tmp_path: Path) -> None:
    """Columns proves its plans for three vehicles; more vehicles earn more than one."""
    config = team.TeamConfig(methods=("greedy", "columns"), prover="columns", count=2)
    greedy, columns = run(team.EXPERIMENT, config, Folders(tmp_path))
    names = ("gap (%)", "proven by it", "optima proven")
    assert [columns[name] for name in names] == ["0.00", "2", "2"]
    assert float(greedy["score"]) < float(columns["score"])
    alone = [decost.solve(one, "exact").profit for one in paper_set(50, 100, 2)]
    assert float(columns["score"]) > np.mean(alone)
    exact = config.model_copy(update={"methods": ("exact",)})
    with pytest.raises(decost.MethodError, match="plans for one vehicle, not for 3"):
        team.list_tasks(exact, Folders(tmp_path))


def test_the_papers_teams_had_other_instances() -> None:
    """All stops that a vehicle can reach and be home again are worth less than its scores."""
    worth = []
    for one in paper_set(50, 100, 100):
        out, home = one.travel[0], one.travel[:, 0]
        reached = (out <= one.close) & (np.maximum(out, one.open) + home <= one.budget)
        worth.append(one.full_profit[reached].sum())
    assert np.mean(worth) < 25 < min(float(score) for score, _ in team.PAPER.values())


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
        methods=("exact",), settings=((50, 100),), count=3, percents=(0, 70)
    )
    table = run(stay_ratio.EXPERIMENT, config, Folders(tmp_path))
    for share in (0, 70):
        missed = []
        for one in paper_set(50, 100, 3):
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
    config = scaling.ScalingConfig(
        methods=("greedy", "exact"),
        kinds=(scaling.Kind("paper", 100, (10, 30)), scaling.Kind("mixed", 100, (8,))),
        count=2,
    )
    table = run(scaling.EXPERIMENT, config, Folders(tmp_path))
    assert [(line["instances of"], line["stops"], line["method"]) for line in table] == [
        (kind, stops, words)
        for kind, stops in (
            ("paper, TW=100", "10"),
            ("paper, TW=100", "30"),
            ("mixed, TW=100", "8"),
        )
        for words in ("greedy", "exact")
    ]
    assert {line["optima proven"] for line in table} == {"2"}
    assert {line["gap (%)"] for line in table if line["method"] == "exact"} == {"0.00"}


TINY_TRAINING: dict[str, Any] = {
    "epochs": 1,
    "episodes": 16,
    "seeds": 2,
    "count": 5,
    "settings": {name: value for name, value in TINY.items() if not isinstance(value, str)}
    | {"epochs": 1},
}


def test_ablation_trains_all_variants(tmp_path: Path) -> None:
    """Four variants with two seeds each are trained once, and go on without training again."""
    config = ablation.AblationConfig(nodes=10, windows=(100,), **TINY_TRAINING)
    table = run(ablation.EXPERIMENT, config, Folders(tmp_path))
    assert [line["variant"] for line in table] == list(ablation.VARIANTS)
    assert [(line["seeds"], line["instances"]) for line in table] == [("2", "5")] * 4
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 8
    written = [(folder / "checkpoint.safetensors").stat().st_mtime_ns for folder in folders]
    (tmp_path / "ablation-quick.rows.jsonl").unlink()
    again = run(ablation.EXPERIMENT, config, Folders(tmp_path))
    after = [(folder / "checkpoint.safetensors").stat().st_mtime_ns for folder in folders]
    assert after == written
    assert [without_time(line) for line in again] == [without_time(line) for line in table]


def without_time(line: Mapping[str, str]) -> dict[str, str]:
    """Leave out what is never the same twice."""
    return {name: cell for name, cell in line.items() if name != "time (ms)"}


def test_sensitivity_has_all_pairs(tmp_path: Path) -> None:
    """Each pair has a line, and the last line has mean and deviation of the lines above."""
    tiny = TINY_TRAINING | {"seeds": 1}
    config = sensitivity.SensitivityConfig(nodes=10, betas=(100, 5000), **tiny)
    *pairs, last = run(sensitivity.EXPERIMENT, config, Folders(tmp_path))
    assert [(line["beta1"], line["beta2"]) for line in pairs] == [
        ("100", "100"),
        ("100", "5000"),
        ("5000", "100"),
        ("5000", "5000"),
    ]
    missed = [float(line["gap (%)"]) for line in pairs]
    assert float(last["gap (%)"]) == pytest.approx(np.mean(missed), abs=0.01)
    assert float(last["std over pairs (%)"]) == pytest.approx(np.std(missed), abs=0.01)


def test_the_papers_mean_over_pairs_is_of_its_table() -> None:
    """Mean and deviation that the paper states are those of its 25 gaps."""
    known = [float(cell) for row in sensitivity.PAPER.values() for cell in row.values()]
    assert len(known) == 25
    mean, deviation = map(float, sensitivity.PAPER_ALL)
    assert np.mean(known) == pytest.approx(mean, abs=0.006)
    assert np.std(known) == pytest.approx(deviation, abs=0.006)


def test_experiments_share_trainings() -> None:
    """With and without the pTAR loss, n=50 and TW=100 are trained in the ablation's folders."""
    tasks = {
        one.name: one.tasks(one.config("full"), Folders(Path()))
        for one in (ablation.EXPERIMENT, ptar.EXPERIMENT)
    }
    folders = {
        name: {task.measure.args[0] for task in some if task.keys[0].method != "exact"}  # type: ignore[attr-defined]
        for name, some in tasks.items()
    }
    assert len(folders["ablation"]) == 24
    assert len(folders["ptar"]) == 4 * ptar.FULL.seeds
    assert len(folders["ablation"] & folders["ptar"]) == 2 * ptar.FULL.seeds


def test_ptar_efficiency_is_the_papers() -> None:
    """The paper's gaps and runtimes give its percentages and its efficiencies, 2.74 and 4.0."""
    for nodes in (50, 100):
        without, with_it = (ptar.PAPER[nodes, label] for label in (ptar.WITHOUT, ptar.WITH))
        found = ptar.gained_and_added(
            (float(without[0]), float(with_it[0])), (float(without[1]), float(with_it[1]))
        )
        assert found == pytest.approx([float(cell) for cell in with_it[2:]], abs=0.05)
    assert ptar.gained_and_added((2.0, 1.0), (3.0, 3.0)) == (50.0, 0.0, None)
    assert ptar.gained_and_added((0.0, 1.0), (1.0, 1.5)) == (0.0, 50.0, 0.0)


def test_ptar_compares_both_trainings(tmp_path: Path) -> None:
    """Two lines a size, of which the second may have an efficiency."""
    config = ptar.PtarConfig(nodes=(10,), **(TINY_TRAINING | {"seeds": 1}))
    without, with_it = run(ptar.EXPERIMENT, config, Folders(tmp_path))
    assert (without["training"], with_it["training"]) == ("without pTAR", "with pTAR")
    assert without["pTAR efficiency"] == ""
    assert float(with_it["CPU time of an epoch (s)"]) > 0


def test_words() -> None:
    """A method is given with its options in one string; the limit is the one that is given."""
    ils = read_words("ils time_limit=10 seed=4")
    assert (ils.method.name, ils.given, ils.seed, ils.limit) == (
        "ils",
        {"time_limit": "10", "seed": "4"},
        4,
        10.0,
    )
    assert read_words("auto").limit == 0.0
    for words, complaint in (
        ("magic", "method 'magic': unknown, choose from"),
        ("ils ten", "'ten' is not like option=value"),
        ("ils speed=3", "option speed = '3': unknown, ils takes"),
        ("ils iterations=x", "option iterations = 'x'"),
        ("", "method '': unknown"),
    ):
        with pytest.raises(decost.MethodError, match=complaint):
            read_words(words)
