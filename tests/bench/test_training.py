"""Tests of what is trained, and of tables of hand-made rows against values worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import decost
from decost import Instance, Result
from decost.experiments import ablation, gaps, ptar, sensitivity, training
from decost.experiments.main import MainConfig
from decost.experiments.runner import Experiment, ExperimentError, Folders, Row
from decost.experiments.tables import add_gaps, paper_columns, percent_over
from decost.experiments.training import TrainingConfig, over_seeds, trained
from decost.learn.config import TrainConfig
from small_runs import TINY

SWITCHES = {
    "baseline": (False, False, False),
    "+ SE": (True, False, False),
    "+ SE + STO": (True, True, False),
    "+ SE + STO + SL": (True, True, True),
}
"""Spatial encoding, stage two and pTAR loss of each variant."""


TRAINING: dict[str, Any] = {"epochs": 1, "episodes": 1, "count": 2}
"""What configurations have that train."""


class Trained(Exception):  # noqa: N818
    """A training would begin now."""


def trainings(
    experiment: Experiment[Any], config: TrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[str, str, int], tuple[Path, TrainConfig]]:
    """Give folder and settings of what is trained, by setting, label and seed."""
    begun: list[tuple[Path, TrainConfig]] = []

    def begin(folder: Path, **settings: Any) -> None:
        begun.append((folder, TrainConfig(**settings)))
        raise Trained

    monkeypatch.setattr(training, "trained", begin)
    found = {}
    for task in experiment.tasks(config, Folders(Path("out"))):
        if task.kind == "training":
            with pytest.raises(Trained):
                task.measure()
            key = task.keys[0]
            assert {(one.method, one.seed) for one in task.keys} == {(key.method, key.seed)}
            assert len(task.keys) == config.count
            found[key.setting, key.method, key.seed] = begun[-1]
    folders = [folder for folder, _ in begun]
    assert len(set(folders)) == len(found) == len(folders)
    return found


def test_each_variant_is_trained_with_its_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The baseline has nothing, and every variant one thing more than that before it.

    So say the settings of its training; its folder names those that are switched off.
    """
    asked = ablation.AblationConfig(nodes=50, seeds=3, **TRAINING)
    found = trainings(ablation.EXPERIMENT, asked, monkeypatch)
    assert list(ablation.VARIANTS) == list(SWITCHES)
    assert list(found) == [
        (f"n=50, TW={window}", label, seed)
        for window in (100, 500)
        for label in SWITCHES
        for seed in range(3)
    ]
    for (setting, label, seed), (folder, config) in found.items():
        switches = config.spatial_encoding, config.stay_optimisation, config.ptar
        assert switches == SWITCHES[label]
        assert (config.nodes, config.seed, config.threads) == ("50", seed, 1)
        assert setting == f"n=50, TW={config.window}"
        off = [f"{name}=False" in folder.name for name in ("encoding", "optimisation", "ptar")]
        assert off == [not switch for switch in SWITCHES[label]]
        assert folder.parent == Path("out") / "runs"


def test_ptar_is_switched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without and with the loss all other settings are the same."""
    asked = ptar.PtarConfig(nodes=(50, 100), seeds=3, **TRAINING)
    found = trainings(ptar.EXPERIMENT, asked, monkeypatch)
    assert len(found) == 2 * 2 * 3
    for (setting, label, seed), (_, config) in found.items():
        assert config.ptar == (label == "with pTAR")
        _, other = found[setting, "with pTAR", seed]
        assert config.model_copy(update={"ptar": True}) == other
        assert setting == f"n={config.nodes}, TW=100"


def test_pairs_of_weights_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label says which weights of REINFORCE and of the pTAR loss its training has."""
    asked = sensitivity.SensitivityConfig(nodes=20, betas=(100, 1000, 5000), seeds=1, **TRAINING)
    found = trainings(sensitivity.EXPERIMENT, asked, monkeypatch)
    assert len(found) == 9
    for (_, label, _), (_, config) in found.items():
        assert label == f"beta1={config.beta1:g} beta2={config.beta2:g}"


@pytest.mark.parametrize("stage_two", [True, False])
def test_trained_networks_are_warmed_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage_two: bool
) -> None:
    """Rows are of the last plans, made by one thread and all at once, after some that are not.

    By hand: 6 s of three epochs are 2 s for each. Stage two is used if it was in training.
    """
    config = TrainConfig(**(TINY | {"stay_optimisation": stage_two}))
    run = SimpleNamespace(config=config, cpu_seconds=6.0, epoch=3)
    monkeypatch.setattr(training, "trained", lambda folder, **settings: run)
    calls: list[int] = []

    def solve_many(
        instances: Sequence[Instance], method: str, *, threads: int, **options: Any
    ) -> list[Result]:
        assert (method, threads) == ("decost", 1)
        assert options == {
            "weights": str(tmp_path / "weights.safetensors"),
            "stay_optimisation": stage_two,
        }
        assert all("arrays" in vars(one) for one in instances)
        calls.append(len(instances))
        plans = [decost.make_solution(one, [[]], [[]]) for one in instances]
        pairs = zip(instances, plans, strict=True)
        return [Result(one, plan, "feasible", runtime=len(calls)) for one, plan in pairs]

    monkeypatch.setattr(training, "solve_many", solve_many)
    instances = decost.generate("paper", nodes=5, window=100, count=4, seed=3)
    rows = training._train_and_measure(tmp_path, {}, "label", partial(list, instances))
    assert len(calls) > 1
    assert calls[-1] == 4
    assert [row["seconds"] for row in rows] == [len(calls)] * 4
    assert [row["epoch_cpu_seconds"] for row in rows] == [2.0] * 4


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what would begin, go on, or be trained, and do nothing of it; a run has seed 0."""
    done: list[str] = []

    def start_run(config: TrainConfig, folder: Path) -> SimpleNamespace:
        done.append("start")
        return SimpleNamespace(config=config)

    def resume_run(folder: Path) -> SimpleNamespace:
        done.append("resume")
        return SimpleNamespace(config=TrainConfig(**TINY))

    def train(run: SimpleNamespace, report: object) -> None:
        done.append("train")

    for function in (start_run, resume_run, train):
        monkeypatch.setattr(f"decost.learn.train.{function.__name__}", function)
    return done


def test_a_folder_is_trained_in_by_one_process(begun: list[str], tmp_path: Path) -> None:
    """While another holds the lock, nothing is trained or written; after that it is."""
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / "lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ExperimentError, match="another run is at work on it") as caught:
            trained(tmp_path, **TINY)
        assert str(tmp_path) in str(caught.value)
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]
        assert begun == []
    trained(tmp_path, **TINY)
    assert begun == ["start", "train"]


def test_a_folder_is_locked_until_it_is_trained(
    begun: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A second training in the midst of the first one is refused, in another folder it is not."""
    pytest.importorskip("fcntl")

    def train(run: SimpleNamespace, report: object) -> None:
        begun.append("train")
        if len(begun) == 2:
            with pytest.raises(ExperimentError, match="another run is at work on it"):
                trained(tmp_path / "one", **TINY)
            trained(tmp_path / "other", **TINY)

    monkeypatch.setattr("decost.learn.train.train", train)
    trained(tmp_path / "one", **TINY)
    assert begun == ["start", "train"] * 2


def test_a_training_goes_on_with_its_settings_alone(begun: list[str], tmp_path: Path) -> None:
    """What is in a folder is gone on with, but not trained further with other settings."""
    (tmp_path / "checkpoint.safetensors").touch()
    trained(tmp_path, **TINY)
    assert begun == ["resume", "train"]
    with pytest.raises(ExperimentError, match="holds a run with other settings"):
        trained(tmp_path, **(TINY | {"seed": 1}))
    assert begun == ["resume", "train", "resume"]


def made(
    method: str, instance: int, profit: float, setting: str = "n=20, TW=100", **others: Any
) -> Row:
    """Make a row; the most that an instance can earn is 10."""
    return {
        "setting": setting,
        "instance": instance,
        "method": method,
        "seed": 0,
        "profit": profit,
        "bound": None,
        "status": "feasible",
        "seconds": 0.5,
        "reached": None,
        "batch": 1,
    } | others


def proof(instance: int, setting: str = "n=20, TW=100") -> Row:
    """Prove that an instance can earn 10."""
    return made("exact", instance, 10.0, setting, bound=10.0, status="optimal")


def test_means_of_seeds() -> None:
    """By hand: seed 0 has 1, 3 and 8, and seed 2, between which its rows are, 20 and 60."""
    values = ((0, 1.0), (2, 20.0), (0, 3.0), (2, 60.0), (0, 8.0))
    rows = [{"seed": seed, "gap": value} for seed, value in values]
    assert over_seeds(rows, "gap") == [4.0, 40.0]


@pytest.mark.parametrize(
    ("seeds", "score", "gap", "deviation"),
    [(2, "7.0000", "30.00", "14.14"), (1, "8.0000", "20.00", "")],
)
def test_ablation_over_seeds(seeds: int, score: str, gap: str, deviation: str) -> None:
    """By hand: of two instances, seed 0 misses 10% and 30%, seed 1 20% and 60%.

    The means 20 and 40 have the sample deviation 10 * sqrt(2); that of one seed is not known.
    """
    profits = ((9.0, 7.0), (8.0, 4.0))[:seeds]
    rows = [proof(0), proof(1)]
    for label in SWITCHES:
        for seed, pair in enumerate(profits):
            rows += [made(label, k, profit, seed=seed) for k, profit in enumerate(pair)]
    config = ablation.AblationConfig(nodes=20, windows=(100,), seeds=seeds, **TRAINING)
    table = ablation.summarise(config, rows)
    assert [line["variant"] for line in table] == list(SWITCHES)
    for line in table:
        assert (line["seeds"], line["instances"]) == (str(seeds), "2")
        assert (line["score"], line["optimum"]) == (score, "10.0000")
        assert (line["gap (%)"], line["std over seeds (%)"]) == (gap, deviation)
        assert line["time (ms)"] == "500"


@pytest.mark.parametrize(
    ("profits", "seconds", "compared"),
    [
        (((8, 6), (9, 8)), ((1.0, 3.0), (2.0, 3.0)), ("50.0", "25.0", "2.00")),
        (((8, 6), (7, 2)), ((1.0, 3.0), (2.0, 3.0)), ("-83.3", "25.0", "-3.33")),
        (((10, 10), (9, 8)), ((1.0, 3.0), (2.0, 3.0)), ("0.0", "25.0", "0.00")),
        (((8, 6), (9, 8)), ((2.0, 2.0), (2.0, 2.0)), ("50.0", "0.0", "")),
        (((8, 6), (9, 8)), ((2.0, 3.0), (1.0, 3.0)), ("50.0", "-20.0", "")),
    ],
    ids=["better", "worse", "no gap to reduce", "no time added", "time saved"],
)
def test_ptar_by_hand(
    profits: tuple[tuple[int, int], tuple[int, int]],
    seconds: tuple[tuple[float, float], tuple[float, float]],
    compared: tuple[str, str, str],
) -> None:
    """What is gained and added, of two instances that can earn 10 each.

    Without the loss 8 and 6 miss 30%, with it 9 and 8 miss 15%, which is half, and 7 and 2 miss
    55%, which is 5/6 more. Epochs of 1 and 3 s have a mean of 2 s, those of 2 and 3 s one of 2.5 s,
    which is a quarter more, and from 2.5 to 2 s it is a fifth less. Where there was no gap, none
    is gained; the efficiency is not known where no time is added.
    """
    rows = [proof(0), proof(1)]
    pairs = zip(("without pTAR", "with pTAR"), profits, seconds, strict=True)
    for label, earned, spent in pairs:
        rows += [
            made(label, k, earned[k], epoch_cpu_seconds=spent[k], seed=k, batch=2) for k in range(2)
        ]
    config = ptar.PtarConfig(nodes=(20,), seeds=1, **TRAINING)
    without, with_it = ptar.summarise(config, rows)
    names = ("gap reduced (%)", "time added (%)", "pTAR efficiency")
    assert tuple(with_it[name] for name in names) == compared
    assert [without[name] for name in names] == ["", "", ""]
    for line, earned, spent in zip((without, with_it), profits, seconds, strict=True):
        assert line["gap (%)"] == f"{100 - 5 * sum(earned)}.00"
        assert line["CPU time of an epoch (s)"] == f"{sum(spent) / 2:.2f}"


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
    config = MainConfig(methods=("greedy", "ils"), settings=())
    lines = gaps.summarise(config, rows)
    names = ("method", "setting", "instances", "mean (%)", "max (%)")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("greedy", "all", "4", "35.000", "60.000"),
        ("greedy", small, "4", "25.000", "40.000"),
        ("greedy", large, "2", "55.000", "60.000"),
        ("ils", "all", "4", "10.000", "10.000"),
        ("ils", small, "3", "10.000", "10.000"),
        ("ils", large, "2", "10.000", "10.000"),
    ]


def gap_facts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, bool]]:
    """Give gap, optimum and whether that is proven, row by row."""
    found = add_gaps(rows, "exact")
    return [(round(row["gap"], 9), row["optimum"], row["optimum_proven"]) for row in found]


def test_gaps_are_to_the_least_bound_where_nothing_is_proven() -> None:
    """By hand: below bounds of 12 and 8, a profit of 6 misses 25%, and one of 7 12.5%."""
    exact = made("exact", 0, 6.0, bound=12.0)
    milp = made("milp", 0, 7.0, bound=8.0)
    assert gap_facts([exact, milp]) == [(25.0, 8.0, False), (12.5, 8.0, False)]
    unbounded = exact | {"bound": None}
    assert gap_facts([unbounded, milp]) == [(25.0, 8.0, False), (12.5, 8.0, False)]


def test_a_proof_of_any_method_is_one() -> None:
    """If HiGHS proves what the prover could not, gaps are to that; looser bounds are not used."""
    exact = made("exact", 0, 6.0, bound=12.0)
    milp = made("milp", 0, 8.0, bound=8.0, status="optimal")
    assert gap_facts([exact, milp]) == [(25.0, 8.0, True), (0.0, 8.0, True)]
    loose = made("milp", 0, 5.0, bound=12.0)
    assert gap_facts([loose, proof(0)]) == [(50.0, 10.0, True), (0.0, 10.0, True)]


def test_no_bound_may_be_beaten() -> None:
    """A bound below a plan is an error, also that of another method than the prover."""
    rows = [proof(0), made("milp", 0, 9.0, bound=9.5)]
    complaint = r"instance 0: exact earns 10\.0, more than the bound 9\.5 of milp"
    with pytest.raises(ValueError, match=complaint):
        add_gaps(rows, "exact")
    rounded = [proof(0), made("milp", 0, 9.0, bound=10.0 - 1e-9)]
    assert gap_facts(rounded) == [(0.0, 10.0, True), (10.0, 10.0, True)]


def test_rows_keep_their_order() -> None:
    """Rows of instances and methods in any order come out as they went in, with what they held."""
    rows = [
        made("greedy", 1, 5.0),
        proof(0),
        made("ils", 0, 9.0),
        proof(1),
        made("greedy", 0, 8.0),
        made("ils", 1, 10.0),
    ]
    found = add_gaps(rows, "exact")
    assert [{name: new[name] for name in row} for row, new in zip(rows, found, strict=True)] == rows
    assert [round(row["gap"], 9) for row in found] == [50.0, 0.0, 10.0, 0.0, 20.0, 0.0]


def test_percent_over_others() -> None:
    """By hand: the mean of 5 and 10 is a quarter above that of 6; of nothing there is none."""
    rows = [{"profit": 5.0}, {"profit": 10.0}]
    assert percent_over(rows, [{"profit": 6.0}]) == "25.00"
    assert percent_over([{"profit": 3.0}], [{"profit": 4.0}]) == "-25.00"
    assert percent_over(rows, None) == ""


def test_columns_of_the_paper() -> None:
    """Figures stand under their names, nothing where the paper has none; a lost one is an error."""
    names = ("score", "gap (%)")
    assert paper_columns(names, ("1.5", "")) == {"paper's score": "1.5", "paper's gap (%)": ""}
    assert paper_columns(names, None) == {"paper's score": "", "paper's gap (%)": ""}
    with pytest.raises(ValueError, match="zip"):
        paper_columns(names, ("1.5",))
