"""Tests of what is trained, and of tables of hand-made rows against values worked out by hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from toys import made, proof

import decost
from decost import Instance, Result
from decost.bench import BenchError, ablation, learning, ptar, sensitivity, training
from decost.bench.contender import Contender
from decost.bench.instances import Setting
from decost.bench.runner import run_bench
from decost.bench.schema import Bench, Folders
from decost.bench.tables import read_toml
from decost.bench.training import TrainingConfig, over_seeds, trained
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

TINY_TRAINING: dict[str, Any] = {
    "epochs": 1,
    "episodes": 16,
    "count": 5,
    "training": {name: value for name, value in TINY.items() if not isinstance(value, str)}
    | {"epochs": 1},
    "settings": (Setting(10),),
}


class Trained(Exception):  # noqa: N818
    """A training would begin now."""


def trainings(
    bench: Bench[Any], config: TrainingConfig, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[str, str, int], tuple[Path, TrainConfig]]:
    """Give folder and settings of what is trained, by setting, label and seed."""
    begun: list[tuple[Path, TrainConfig]] = []

    def begin(folder: Path, **settings: Any) -> None:
        begun.append((folder, TrainConfig(**settings)))
        raise Trained

    monkeypatch.setattr(training, "trained", begin)
    found = {}
    for task in bench.tasks(config, Folders(Path("out"))):
        if task.kind == "training":
            with pytest.raises(Trained):
                task.measure()
            key = task.keys[0]
            assert {one[2:] for one in task.keys} == {key[2:]}
            assert len(task.keys) == config.count
            found[key.setting, str(key.contender), key.seed] = begun[-1]
    folders = [folder for folder, _ in begun]
    assert len(set(folders)) == len(found) == len(folders)
    return found


def test_each_variant_is_trained_with_its_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The baseline has nothing, and every variant one thing more than that before it.

    So say the settings of its training; its folder names those that are switched off.
    """
    settings = (Setting(50, 100), Setting(50, 500))
    asked = TrainingConfig(settings=settings, seeds=3, training={"samples": 7}, **TRAINING)
    found = trainings(ablation.BENCH, asked, monkeypatch)
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
        assert (config.epochs, config.episodes, config.samples) == (1, 1, 7)
        assert setting == f"n=50, TW={config.window}"
        off = [f"{name}=False" in folder.name for name in ("encoding", "optimisation", "ptar")]
        assert off == [not switch for switch in SWITCHES[label]]
        assert folder.parent == Path("out") / "runs"


def test_ptar_is_switched_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without and with the loss all other settings are the same."""
    asked = TrainingConfig(settings=(Setting(50), Setting(100)), seeds=3, **TRAINING)
    found = trainings(ptar.BENCH, asked, monkeypatch)
    assert len(found) == 2 * 2 * 3
    for (setting, label, seed), (_, config) in found.items():
        assert config.ptar == (label == "with pTAR")
        _, other = found[setting, "with pTAR", seed]
        assert config.model_copy(update={"ptar": True}) == other
        assert setting == f"n={config.nodes}, TW=100"


def test_ratios_of_weights_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label says which ratio the weights of its training have, and each is trained once."""
    asked = sensitivity.SensitivityConfig(
        settings=(Setting(20),), betas=(100, 1000, 5000), seeds=1, **TRAINING
    )
    found = trainings(sensitivity.BENCH, asked, monkeypatch)
    assert len(found) == 7  # of the pairs 100 100, 1000 1000 and 5000 5000 one is enough
    for (_, label, _), (_, config) in found.items():
        beta1, beta2 = (int(word.partition("=")[2]) for word in label.split())
        assert beta1 * config.beta2 == beta2 * config.beta1
        assert math.gcd(beta1, beta2) == 1
    full = trainings(sensitivity.BENCH, sensitivity.BENCH.full, monkeypatch)
    assert len(full) == 15 * 3


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
    card = {"instances": 48, "cpu_seconds": 5.0}
    monkeypatch.setattr("decost.inference.weights.read_card", lambda path: card)
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
    rows = training.train_and_measure(tmp_path, {}, partial(list, instances))
    assert len(calls) > 1
    assert calls[-1] == 4
    assert [row["seconds"] for row in rows] == [len(calls)] * 4
    names = ("epoch_cpu_seconds", "trained_on", "trained_cpu_seconds")
    assert [tuple(row[name] for name in names) for row in rows] == [(2.0, 48, 5.0)] * 4


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


def test_a_folder_is_locked_until_it_is_trained(
    begun: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A second training in the midst of the first one is refused, in another folder it is not."""
    pytest.importorskip("fcntl")

    def train(run: SimpleNamespace, report: object) -> None:
        begun.append("train")
        if len(begun) == 2:
            with pytest.raises(BenchError, match="one: another run is at work on it"):
                trained(tmp_path / "one", **TINY)
            assert begun == ["start", "train"]
            trained(tmp_path / "other", **TINY)

    monkeypatch.setattr("decost.learn.train.train", train)
    trained(tmp_path / "one", **TINY)
    assert begun == ["start", "train"] * 2


def test_a_training_goes_on_with_its_settings_alone(begun: list[str], tmp_path: Path) -> None:
    """What is in a folder is gone on with, but not trained further with other settings."""
    (tmp_path / "checkpoint.safetensors").touch()
    trained(tmp_path, **TINY)
    assert begun == ["resume", "train"]
    with pytest.raises(BenchError, match="holds a run with other settings"):
        trained(tmp_path, **(TINY | {"seed": 1}))
    assert begun == ["resume", "train", "resume"]


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
            named = {"contender": Contender.of("decost", label), "seed": seed}
            rows += [made("decost", k, profit, **named) for k, profit in enumerate(pair)]
    config = TrainingConfig(settings=(Setting(20),), seeds=seeds, **TRAINING)
    table = ablation.summarise(config, rows)[""]
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
        named = {"contender": Contender.of("decost", label), "batch": 2}
        rows += [
            made("decost", k, earned[k], epoch_cpu_seconds=spent[k], seed=k, **named)
            for k in range(2)
        ]
    config = TrainingConfig(settings=(Setting(20),), seeds=1, **TRAINING)
    without, with_it = ptar.summarise(config, rows)[""]
    names = ("gap reduced (%)", "time added (%)", "pTAR efficiency")
    assert tuple(with_it[name] for name in names) == compared
    assert [without[name] for name in names] == ["", "", ""]
    for line, earned, spent in zip((without, with_it), profits, seconds, strict=True):
        assert line["gap (%)"] == f"{100 - 5 * sum(earned)}.00"
        assert line["CPU time of an epoch (s)"] == f"{sum(spent) / 2:.2f}"


def run(bench: Bench[Any], config: TrainingConfig, folder: Path) -> list[dict[str, str]]:
    """Run a bench with a tiny configuration, and give its table."""
    _, table = run_bench(replace(bench, quick=config), "quick", Folders(folder))
    with table.open(newline="") as file:
        return list(csv.DictReader(file))


def test_ablation_trains_all_variants(tmp_path: Path) -> None:
    """Four variants with two seeds each are trained once, and go on without training again."""
    config = TrainingConfig(seeds=2, **TINY_TRAINING)
    table = run(ablation.BENCH, config, tmp_path)
    assert [line["variant"] for line in table] == list(ablation.VARIANTS)
    assert [(line["seeds"], line["instances"]) for line in table] == [("2", "5")] * 4
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 8
    written = [(folder / "checkpoint.safetensors").stat().st_mtime_ns for folder in folders]
    (tmp_path / "ablation-quick.rows.jsonl").unlink()
    again = run(ablation.BENCH, config, tmp_path)
    after = [(folder / "checkpoint.safetensors").stat().st_mtime_ns for folder in folders]
    assert after == written
    for line in (*table, *again):
        del line["time (ms)"]
    assert again == table


def test_sensitivity_has_all_pairs(tmp_path: Path) -> None:
    """Each pair has a line, and the last line has mean and deviation of the ratios."""
    config = sensitivity.SensitivityConfig(betas=(100, 5000), seeds=1, **TINY_TRAINING)
    *pairs, last = run(sensitivity.BENCH, config, tmp_path)
    betas = ("100", "5000")
    assert [(line["beta1"], line["beta2"]) for line in pairs] == list(product(betas, betas))
    missed = [float(line["gap (%)"]) for line in pairs]
    assert missed[3] == missed[0]
    del missed[3]
    assert float(last["gap (%)"]) == pytest.approx(np.mean(missed), abs=0.01)
    assert float(last["std over pairs (%)"]) == pytest.approx(np.std(missed), abs=0.01)
    assert last["paper's gap, n=50 (%)"] == "0.89"


def test_the_papers_mean_over_pairs_is_of_its_table() -> None:
    """Mean and deviation that the paper states are those of its 25 gaps."""
    figures = read_toml("paper.toml")["sensitivity"]
    known = [float(figures[a][b][0]) for a in figures for b in figures[a] if a.isdigit()]
    assert len(known) == 25
    mean, deviation = map(float, figures["all"]["all"])
    assert np.mean(known) == pytest.approx(mean, abs=0.006)
    assert np.std(known) == pytest.approx(deviation, abs=0.006)


def test_benches_share_trainings() -> None:
    """With and without the pTAR loss, n=50 and TW=100 are trained in the ablation's folders."""
    folders = {
        one.name: {
            task.measure.args[0]  # type: ignore[attr-defined]
            for task in one.tasks(one.full, Folders(Path()))
            if task.kind == "training"
        }
        for one in (ablation.BENCH, ptar.BENCH)
    }
    assert len(folders["ablation"]) == 24
    assert len(folders["ptar"]) == 4 * ptar.BENCH.full.seeds
    assert len(folders["ablation"] & folders["ptar"]) == 2 * ptar.BENCH.full.seeds


def test_ptar_efficiency_is_the_papers() -> None:
    """The paper's gaps and runtimes give its percentages and its efficiencies, 2.74 and 4.0."""
    for nodes in (50, 100):
        figures = read_toml("paper.toml")["ptar"][f"n={nodes}"]
        without, with_it = (figures[label] for label in (ptar.WITHOUT, ptar.WITH))
        found = ptar.gained_and_added(
            (float(without[0]), float(with_it[0])), (float(without[1]), float(with_it[1]))
        )
        assert found == pytest.approx([float(cell) for cell in with_it[2:]], abs=0.05)


def test_learning_measures_every_training_in_both_ways(tmp_path: Path) -> None:
    """Five trainings, each tested greedily and with symmetries, which can only be better."""
    tiny = TINY_TRAINING["training"]
    config = learning.LearningConfig(
        settings=(Setting(10),), minutes=0.002, episodes=16, count=3, training=tiny
    )
    table = run(learning.BENCH, config, tmp_path)
    assert [line["training"] for line in table] == list(learning.RUNS)
    assert {line["tested on"] for line in table} == {"3"}
    for line in table:
        gaps = [float(line[way].removesuffix("%")) for way in learning.WAYS]
        assert gaps[0] >= gaps[1] >= 0
