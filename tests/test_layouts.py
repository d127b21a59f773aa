"""Test that the layout of given arrays does not matter: no kernel is compiled for it anew."""

from __future__ import annotations

import sys
from typing import Any

import numba
import numpy as np
import pytest

import decost
from decost import Instance
from quick_options import quick


def compiled() -> dict[str, list[Any]]:
    """List for every kernel what it has been compiled for."""
    kernels = {
        f"{module}.{name}": thing
        for module, content in list(sys.modules.items())
        if module.startswith("decost")
        for name, thing in list(vars(content).items())
        if hasattr(thing, "nopython_signatures") and not isinstance(thing, type)
    }
    return {name: list(kernel.nopython_signatures) for name, kernel in kernels.items()}


def fortran(table: np.ndarray) -> np.ndarray:
    """Store by columns."""
    return np.asfortranarray(table)


def strided(table: np.ndarray) -> np.ndarray:
    """Store with gaps."""
    return np.repeat(table, 2, axis=-1)[..., ::2]


def backwards(table: np.ndarray) -> np.ndarray:
    """Store from the end to the beginning."""
    return table[::-1].copy()[::-1]


def read_only(table: np.ndarray) -> np.ndarray:
    """Store where nothing can be written."""
    table = table.copy()
    table.flags.writeable = False
    return table


def single(table: np.ndarray) -> np.ndarray:
    """Store in half the precision."""
    return table.astype(np.float32)


def swapped(table: np.ndarray) -> np.ndarray:
    """Store with the other order of bytes."""
    return table.astype(table.dtype.newbyteorder())


LAYOUTS = [fortran, strided, backwards, read_only, single, swapped]


def fields() -> dict[str, Any]:
    """Give an instance in numbers that fit into half the precision."""
    random = np.random.default_rng(3)
    nodes = 7
    return {
        "xy": random.integers(0, 9, (nodes, 2)).astype(float),
        "travel": random.integers(1, 6, (nodes, nodes)).astype(float),
        "open": random.integers(0, 6, nodes).astype(float),
        "close": random.integers(8, 20, nodes).astype(float),
        "leave_by": random.integers(20, 25, nodes).astype(float),
        "reward": random.integers(0, 4, nodes).astype(float),
        "min_stay": random.integers(0, 2, nodes).astype(float),
        "pieces": [np.array([[3.0, 1.0], [1.0, 2.0]]) for _ in range(nodes)],
    }


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="compiles nothing")
@pytest.mark.parametrize("without", ["xy", "travel"])
def test_no_layout_compiles_anew(method: str, without: str) -> None:
    """After a plain array, none of another layout or type makes a method compile; plans equal."""
    usual = fields()
    del usual[without]
    plain = Instance(budget=25, **usual)
    expected = decost.solve(plain, method, **quick(method)).solution
    before = compiled()
    assert before
    for layout in LAYOUTS:
        given = {
            name: [layout(one) for one in value] if name == "pieces" else layout(value)
            for name, value in usual.items()
        }
        instance = Instance(budget=25, **given)
        assert instance == plain
        assert decost.solve(instance, method, **quick(method)).solution == expected
    assert compiled() == before


def test_wanted_of_any_layout() -> None:
    """What is wanted of `values_to_go` may be stored in any way as well, but must fit."""
    instance = Instance(budget=25, **fields())
    mask = np.array([True, False] * 4)[: instance.nodes]
    (expected,) = decost.values_to_go([instance], [[]], wanted=[mask])
    before = compiled()
    for layout in (strided, backwards, read_only, np.ndarray.tolist):
        (values,) = decost.values_to_go([instance], [[]], wanted=[layout(mask)])
        assert (values == expected).all()
    assert compiled() == before
    with pytest.raises(ValueError, match=r"wanted\[0\]: has shape \(3,\), must be \(7,\)"):
        decost.values_to_go([instance], [[]], wanted=[mask[:3]])
