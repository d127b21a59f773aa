"""Shapes of networks, as a file of weights carries them, and what tensors they need."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

TOKEN_FEATURES = 24
"""Numbers that describe a candidate to a prefix network (`decost.inference.view`)."""

OUTLOOK_FEATURES = 8
"""More of them that tell what else there is: other ways, other vehicles, and what lies around."""

PAIR_FEATURES = 6
"""Numbers that describe serving one candidate right before another."""

NODE_FEATURES = 8
"""Numbers that describe a node: x, y, open, close, rate, longest stay, reward, shortest stay."""

PAPER_FEATURES = 5
"""The first of these, which are the paper's (appendix D)."""

HEATMAP_NODE_FEATURES = 10
"""Numbers that describe a node to a heatmap network (`decost.inference.heatmap`)."""

HEATMAP_TRAIL_FEATURES = 5
"""Numbers that describe a trail to it."""


class Settings(BaseModel):
    """Settings that cannot be changed, and of which none is unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class NetworkConfig(Settings):
    """Shape of a network; a file of weights carries it."""

    network: Literal["paper", "prefix"] = Field(
        default="paper", description="the paper's, or ours with exact prefix features"
    )
    layers: int = Field(default=6, ge=1, le=64, description="layers of the encoder")
    width: int = Field(default=128, ge=1, le=4096, description="width of the encoding")
    heads: int = Field(default=8, ge=1, le=64, description="heads of the attention")
    feed_forward: int = Field(
        default=512, ge=1, le=16384, description="width of the feed-forward networks"
    )
    clip: float = Field(default=10.0, gt=0, le=100, description="tanh clipping of the logits")
    spatial_encoding: bool = Field(
        default=True, description="edge bias of the attention, from travel times"
    )
    features: Literal["paper", "extended"] = Field(
        default="paper",
        description="of a paper network: the paper's five a node, or three more, an own"
        " embedding of the depot and a matrix in the compatibility",
    )
    scaled: bool = Field(
        default=False, description="inputs of order one: windows and time x10, coordinates x3"
    )
    stay_decoder: Literal["sigmoid", "softmax", "fixed"] = Field(
        default="sigmoid",
        description="share of the longest stay that is reserved: the paper's, its published"
        " code's, or always --stay-share",
    )
    stay_share: float = Field(default=0.0, ge=0, le=1, description="the share, if it is fixed")
    context: int = Field(
        default=12, ge=1, le=100_000, description="most stops that a prefix network looks at"
    )
    promising: int = Field(
        default=0,
        ge=0,
        le=100_000,
        description="how many of these are taken for what they pay, not for an early start",
    )
    outlook: bool = Field(
        default=False,
        description="a prefix network is told what lies around a stop, who else may visit it"
        " later, and which stops are required",
    )

    @model_validator(mode="before")
    @classmethod
    def _usual_shape(cls, given: Any) -> Any:
        """Make a prefix network small unless told otherwise: it runs at every step."""
        if isinstance(given, dict) and given.get("network") == "prefix":
            return PREFIX_SHAPE | given
        return given

    @model_validator(mode="after")
    def _even_heads(self) -> NetworkConfig:
        if self.width % self.heads:
            raise ValueError(f"width = {self.width}: must be a multiple of heads = {self.heads}")
        if self.promising > self.context:
            raise ValueError(f"promising = {self.promising}: more than context = {self.context}")
        return self


PREFIX_SHAPE = {"layers": 3, "width": 48, "heads": 4, "feed_forward": 96}


class HeatmapConfig(Settings):
    """Shape of a heatmap network; a file of weights carries it."""

    network: Literal["heatmap"] = Field(default="heatmap", description="heat of trails for ants")
    layers: int = Field(default=12, ge=1, le=64, description="layers of the network")
    width: int = Field(default=32, ge=1, le=4096, description="width of the encoding")
    stay_decoder: bool = Field(
        default=False,
        description="predict a share of the longest stay, which ants reserve; else the shortest",
    )


Shapes = dict[str, tuple[int, ...]]


def token_features(config: NetworkConfig) -> int:
    """Say how many numbers describe a candidate to a prefix network."""
    return TOKEN_FEATURES + OUTLOOK_FEATURES * config.outlook


def tensor_shapes(config: NetworkConfig | HeatmapConfig) -> Shapes:
    """Give names and shapes of the tensors of a network."""
    if isinstance(config, HeatmapConfig):
        return _heatmap_shapes(config)
    return _paper_shapes(config) if config.network == "paper" else _prefix_shapes(config)


def _linear(name: str, into: int, out: int, *, bias: bool = True) -> Shapes:
    weight: Shapes = {f"{name}.weight": (out, into)}
    return weight | {f"{name}.bias": (out,)} if bias else weight


def _paper_shapes(config: NetworkConfig) -> Shapes:
    width, extended = config.width, config.features == "extended"
    features = NODE_FEATURES if extended else PAPER_FEATURES
    found = _linear("embed", features, width)
    if extended:
        found |= _linear("embed_depot", features, width)
    for k in range(config.layers):
        name = f"layers.{k}"
        found |= _linear(f"{name}.into", width, 3 * width, bias=False)
        found |= _linear(f"{name}.out", width, width)
        found |= _linear(f"{name}.forth", width, config.feed_forward)
        found |= _linear(f"{name}.back", config.feed_forward, width)
        for norm in ("first", "second"):
            found |= {f"{name}.{norm}.{part}": (width,) for part in ("scale", "shift")}
        if config.spatial_encoding:
            found[f"{name}.edge"] = (config.heads,)
    for name in ("routing",) if config.stay_decoder == "fixed" else ("routing", "staying"):
        parts = ("query", "key", "value", *(("compare",) if extended else ()))
        for part in parts:
            found |= _linear(f"{name}.{part}", width, width, bias=False)
        found |= _linear(f"{name}.combine", width, width)
        found[f"{name}.time_query"] = (width,)
    return found


def _prefix_shapes(config: NetworkConfig) -> Shapes:
    width, between = config.width, config.feed_forward
    found = _linear("embed.0", token_features(config), width) | _linear("embed.2", width, width)
    found |= _linear("bias", PAIR_FEATURES, 2 * config.heads)
    for k in range(config.layers):
        found |= {f"layers.{k}.norm.{part}": (width,) for part in ("weight", "bias")}
        found |= _linear(f"layers.{k}.into", width, 3 * width + between, bias=False)
        found |= _linear(f"layers.{k}.out", width + between, width, bias=False)
    found |= {f"head.0.{part}": (width,) for part in ("weight", "bias")}
    return found | _linear("head.1", width, 1)


def _heatmap_shapes(config: HeatmapConfig) -> Shapes:
    width = config.width
    found = _linear("embed_nodes", HEATMAP_NODE_FEATURES, width)
    found |= _linear("embed_trails", HEATMAP_TRAIL_FEATURES, width)
    for k in range(config.layers):
        found |= _linear(f"layers.{k}.nodes", width, 4 * width)
        found |= _linear(f"layers.{k}.trails", width, width)
        for norm in ("node_norm", "trail_norm"):
            found |= {f"layers.{k}.{norm}.{part}": (width,) for part in ("scale", "shift")}
    found |= _linear("head.0", width, width) | _linear("head.2", width, width)
    found |= _linear("head.4", width, 1)
    found |= _linear("partition.0", width, width) | _linear("partition.2", width, 2)
    if config.stay_decoder:
        found |= _linear("stay.0", width, width) | _linear("stay.2", width, 1)
    return found
