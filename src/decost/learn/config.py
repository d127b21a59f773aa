"""Settings of trainings, with the paper's values as defaults."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from decost.files.benchmarks import Profit
from decost.inference.shapes import HeatmapConfig, NetworkConfig, Settings
from decost.method.options import Stays


class RunConfig(Settings):
    """Settings of any training run: on which instances, for how long, and its seed."""

    nodes: str = Field(default="50", description="nodes of an instance; several: 50,100")
    window: str = Field(default="100", description="the paper's TW; several: 100,500")
    settings: str = Field(
        default="",
        description="instead, a list like 50:100,500:100,mixed-14:100 (family-nodes:window)",
    )
    files: str = Field(
        default="", description="instead, a folder of instance files, all of one size or not"
    )
    profit: Profit = Field(
        default="fixed", description="of benchmark files, as in decost solve: fixed or variable"
    )
    held_out: str = Field(
        default="",
        description="names of files that are not trained on but measured, like c105,r104; they do"
        " not choose an epoch: with files the last one counts",
    )
    trained_on: str = Field(
        default="",
        description="names of files that are trained on; by default all that are not held out",
    )
    budget: float | None = Field(
        default=None, gt=0, le=10**6, description="time budget; by default the paper's"
    )
    vehicles: int = Field(default=1, ge=1, le=100, description="vehicles of an instance")
    epochs: int = Field(default=800, ge=1, le=10**6, description="epochs")
    patience: int = Field(
        default=100, ge=1, le=10**6, description="epochs without improvement before an early stop"
    )
    validation: int = Field(
        default=256, ge=1, le=10**6, description="instances on which the gap is measured"
    )
    average: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="part of a running mean of the weights that stays at every step; that mean is"
        " what is measured and written. 0: the weights themselves",
    )
    time_limit: float | None = Field(
        default=None, ge=0, description="seconds after which the epoch is the last"
    )
    cpu_limit: float | None = Field(
        default=None, ge=0, description="the same in seconds of all cores together"
    )
    seed: int = Field(default=0, ge=0, le=2**32 - 1, description="seed of everything random")

    @model_validator(mode="after")
    def _known_sources(self) -> Self:
        self.sources()
        if bool(self.files) != bool(self.held_out):
            raise ValueError("files and held_out: one without the other leaves nothing to measure")
        if self.trained_on and not self.files:
            raise ValueError("trained_on: names files, and there is no folder of files")
        if both := _names(self.trained_on) & _names(self.held_out):
            raise ValueError(f"trained_on = {min(both)}: is held out, too")
        if self.files and self.budget is not None:
            raise ValueError(f"budget = {self.budget}: files have their own")
        return self

    @property
    def file_names(self) -> tuple[frozenset[str], frozenset[str]]:
        """Names of the files that are trained on, none for all others, and of those held out."""
        return frozenset(_names(self.trained_on)), frozenset(_names(self.held_out))

    def sources(self) -> list[Source]:
        """Kinds of instances to train on, each as often as the others."""
        if self.files:
            return [Source("files", 0, 0.0)]
        if self.settings:
            return [_source(word) for word in self.settings.split(",")]
        sizes = [_number("nodes", word, 2, 10_000) for word in self.nodes.split(",")]
        windows = [_number("window", word, 1e-6, 1e6) for word in self.window.split(",")]
        return [Source("paper", int(size), window) for size in sizes for window in windows]


class TrainConfig(RunConfig, NetworkConfig):
    """All settings of a training run; the paper's recipe (its appendix E) by default."""

    teacher: Literal["none", "exact"] = Field(
        default="none", description="none: REINFORCE; exact: regret by exact values to go"
    )
    imitated: str = Field(
        default="",
        description="with the exact teacher: more kinds of instances, as in --settings or with a"
        " team like 50:100x3, where the plans of a search are imitated and improved upon",
    )
    rounds: int = Field(
        default=1000, ge=1, le=10**6, description="of the search whose plans are imitated"
    )
    explored: int = Field(
        default=7, ge=2, le=1000, description="routes drawn beside each plan that is imitated"
    )
    episodes: int = Field(default=10_000, ge=1, le=10**8, description="instances an epoch")
    batch_size: int = Field(default=128, ge=1, le=10**5, description="instances a step")
    samples: int = Field(default=50, ge=1, le=10**5, description="routes an instance")
    learning_rate: float = Field(default=1e-4, gt=0, le=1, description="of Adam")
    final_learning_rate: float = Field(
        default=1.0, gt=0, le=1, description="part of it that a cosine ends with"
    )
    weight_decay: float = Field(default=1e-6, ge=0, le=1, description="of Adam")
    gradient_clip: float = Field(
        default=0.0, ge=0, le=10**9, description="longest gradient that is followed; 0: any"
    )
    baseline: Literal["instance", "state"] = Field(
        default="instance",
        description="what a sample's profit is compared with: the mean of all samples of its"
        " instance (equation 2), or of the others that were in the same state",
    )
    entropy: float = Field(
        default=0.0, ge=0, le=10**6, description="weight of the entropy of the choices"
    )
    beta1: float = Field(default=1000.0, ge=0, le=10**9, description="weight of REINFORCE")
    beta2: float = Field(default=1000.0, ge=0, le=10**9, description="weight of the pTAR loss")
    ptar: bool = Field(default=True, description="the pTAR loss")
    ptar_ratio: Literal["stops", "sums"] = Field(
        default="stops",
        description="pTAR as in equation 4, a sum of ratios, or as in the published code, a"
        " ratio of sums",
    )
    through_time: bool = Field(
        default=False,
        description="REINFORCE reaches the stays through the time, too; with"
        " --no-stay-optimisation also by what they earn, and none is drawn at random",
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto", description="of the encoder in training; auto: bf16 where it is fast"
    )
    stay_optimisation: bool = Field(
        default=True, description="optimal stays, which leaves the predicted ones to be rewarded"
    )
    imitation: float = Field(
        default=0.5, ge=0, le=1, description="part of a run in which the teacher is imitated"
    )
    imitation_weight: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="share of imitation in the loss while it lasts; little suits a network that"
        " was taught before",
    )
    temperature: float = Field(
        default=0.005, gt=0, le=1, description="loss that a teacher to imitate makes light of"
    )
    start: str = Field(
        default="",
        description="weights to begin with, of a network with the shape of the run (layers, width,"
        " heads, ...): a file or a model's name",
    )
    device: str = Field(default="cpu", description="where torch computes: cpu, cuda, cuda:1")
    threads: int = Field(
        default=0, ge=0, le=1024, description="threads, of which --parts are of use; 0: one a core"
    )
    parts: int = Field(
        default=2,
        ge=1,
        le=1024,
        description="parts of a batch that are worked on side by side, by threads, or by"
        " processes of torchrun, who must be able to share them evenly",
    )

    @model_validator(mode="before")
    @classmethod
    def _recipe_of_the_teacher(cls, given: Any) -> Any:
        """Take what suits the exact teacher and the network, unless told otherwise."""
        if isinstance(given, dict) and given.get("teacher") == "exact":
            given = TEACHER_RECIPE | given
        if isinstance(given, dict) and (
            given.get("network") == "prefix" or given.get("stay_decoder") == "fixed"
        ):
            given = {"ptar": False} | given
        return given

    @model_validator(mode="after")
    def _sensible(self) -> TrainConfig:
        if self.network == "prefix" and (self.ptar or not self.stay_optimisation):
            what = "ptar" if self.ptar else "no-stay-optimisation"
            raise ValueError(f"{what}: a prefix network predicts no stays")
        if self.imitated and (self.teacher != "exact" or self.network != "prefix"):
            raise ValueError("imitated: goes with the exact teacher and a prefix network")
        if self.teacher == "exact" and self.vehicles > 1:
            raise ValueError(f"vehicles = {self.vehicles}: the exact teacher plans for one")
        if self.teacher == "exact" and (self.ptar or not self.stay_optimisation):
            what = "ptar" if self.ptar else "no-stay-optimisation"
            raise ValueError(f"{what}: the exact teacher looks at routes alone")
        if self.stay_decoder == "fixed" and (self.ptar or not self.stay_optimisation):
            what = "ptar" if self.ptar else "no-stay-optimisation"
            raise ValueError(f"{what}: no stays are predicted if their share is fixed")
        drawn = not (self.stay_optimisation or self.through_time)
        shared = self.network == "paper" and self.teacher == "none" and not drawn
        if self.baseline == "state" and not (shared and self.device == "cpu"):
            raise ValueError(
                "baseline = state: needs samples that share states: REINFORCE of a paper network"
                " with stage two or through the time, on the CPU"
            )
        if self.teacher == "none" and self.samples < 2:
            raise ValueError(f"samples = {self.samples}: REINFORCE compares at least two routes")
        return self

    def sources(self) -> list[Source]:
        """Kinds of instances to train on, each as often as the others."""
        if self.files and self.imitated:
            if self.imitated != "files":
                raise ValueError(f"imitated = {self.imitated}: with files, it can be files only")
            return [Source("files", 0, 0.0, imitated=True)]
        words = self.imitated.split(",") if self.imitated else []
        return [*super().sources(), *(_source(word, imitated=True) for word in words)]

    def network_config(self) -> NetworkConfig:
        """Take the part that belongs to the network."""
        return NetworkConfig(**{name: getattr(self, name) for name in NetworkConfig.model_fields})


class AntsConfig(RunConfig, HeatmapConfig):
    """All settings of training a heatmap for ants; the recipe of GFACS by default."""

    stays: Stays = Field(
        default="optimal", description="optimal (stage two), or greedy: as long as possible"
    )
    epochs: int = Field(default=20, ge=1, le=10**6, description="epochs")
    steps: int = Field(default=20, ge=1, le=10**6, description="steps an epoch")
    batch_size: int = Field(default=5, ge=1, le=10**5, description="instances a step")
    ants: int = Field(default=30, ge=1, le=10**4, description="ants an instance")
    learning_rate: float = Field(default=3e-4, gt=0, le=1, description="of AdamW, at first")
    final_learning_rate: float = Field(
        default=0.1, gt=0, le=1, description="part of it that a cosine ends with"
    )
    first_beta: float = Field(
        default=5.0, ge=0, le=10**6, description="weight of profits, at first"
    )
    final_beta: float = Field(
        default=10.0, ge=0, le=10**6, description="weight of profits, at last"
    )
    ptar_weight: float = Field(
        default=1.0, ge=0, le=10**6, description="weight of the pTAR loss of predicted stays"
    )
    validation: int = Field(
        default=64, ge=1, le=10**6, description="instances on which the gap is measured"
    )

    @model_validator(mode="after")
    def _stays_to_predict(self) -> AntsConfig:
        if self.stay_decoder and self.stays == "greedy":
            raise ValueError("stay_decoder: with greedy stays there are none to predict")
        return self

    @property
    def episodes(self) -> int:
        """Instances an epoch."""
        return self.steps * self.batch_size

    def network_config(self) -> HeatmapConfig:
        """Take the part that belongs to the network."""
        return HeatmapConfig(**{name: getattr(self, name) for name in HeatmapConfig.model_fields})


TRAINED = ("paper", "mixed", "free", "rewards")
"""Families that the exact teacher and REINFORCE are for."""

IMITATED = (*TRAINED, "days", "people")
"""Families of which plans of a search can be imitated."""


class Source(NamedTuple):
    """A kind of random instances: a family of `decost.generate`, a size and a window.

    Of some kinds the plans of a search are imitated; these may have teams of their own size.
    """

    family: str
    nodes: int
    window: float
    vehicles: int = 0
    imitated: bool = False

    def __str__(self) -> str:
        if self.family == "files":
            return "files"
        team = f"x{self.vehicles}" if self.vehicles else ""
        return f"{self.family}-{self.nodes}:{self.window:g}{team}"


def _names(text: str) -> set[str]:
    """Read names of files with commas between them; upper or lower case makes no difference."""
    return {word.strip().lower() for word in text.split(",") if word.strip()}


def _source(word: str, *, imitated: bool = False) -> Source:
    left, colon, window = word.strip().partition(":")
    vehicles = 0
    if imitated and "x" in window:
        window, _, team = window.partition("x")
        vehicles = int(_number(f"imitated: {word!r}: vehicles", team, 1, 100))
    family, dash, nodes = left.rpartition("-")
    if not colon:
        raise ValueError(f"settings: {word!r} is not like 50:100 or mixed-14:100")
    families = IMITATED if imitated else TRAINED
    if dash and family not in families:
        raise ValueError(f"settings: {word!r}: families are {', '.join(families)}")
    size = int(_number(f"settings: {word!r}: nodes", nodes, 2, 10_000))
    width = _number(f"settings: {word!r}: window", window, 1e-6, 1e6)
    return Source(family or "paper", size, width, vehicles, imitated)


def _number(field: str, word: str, least: float, most: float) -> float:
    try:
        number = int(word) if least >= 1 else float(word)
    except ValueError:
        raise ValueError(f"{field} = {word!r}: is no number") from None
    if not least <= number <= most:
        raise ValueError(f"{field} = {word!r}: must be from {least:g} to {most:g}")
    return number


TEACHER_RECIPE = {
    "network": "prefix",
    "samples": 1,
    "batch_size": 64,
    "learning_rate": 1e-3,
    "final_learning_rate": 0.02,
    "weight_decay": 1e-2,
    "gradient_clip": 1.0,
    "ptar": False,
}
