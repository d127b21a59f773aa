"""Loops over rows of float32 that become vector instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from decost.compiled import compile_with

Floats = npt.NDArray[np.float32]
Function = TypeVar("Function", bound=Callable[..., object])


def vectors(function: Function) -> Function:
    """Compile a kernel in which sums may be taken in any order."""
    return compile_with(function, fastmath=True)


def row(function: Function) -> Function:
    """Compile a short function that makes no arrays, in the same way (`decost.compiled.lean`)."""
    return compile_with(function, fastmath=True, _nrt=False)


@row
def exp(x: Any) -> Any:
    """Exponential of a number that is not above 0; unlike the library's, loops of it are vectors.

    The polynomial is that of Cephes, good to the last bits of float32.
    """
    x = max(np.float32(x), np.float32(-87.0))
    whole = np.floor(x * np.float32(1.442695041) + np.float32(0.5))
    rest = x - whole * np.float32(0.693359375) + whole * np.float32(2.12194440e-4)
    part = np.float32(1.9875691500e-4)
    part = part * rest + np.float32(1.3981999507e-3)
    part = part * rest + np.float32(8.3334519073e-3)
    part = part * rest + np.float32(4.1665795894e-2)
    part = part * rest + np.float32(1.6666665459e-1)
    part = part * rest + np.float32(5.0000001201e-1)
    part = part * rest * rest + rest + np.float32(1.0)
    power = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23))
    return part * power.view(np.float32)


@row
def soften(numbers: Floats) -> None:
    """Turn logits into probabilities, in place."""
    top = numbers[0]
    for k in range(len(numbers)):
        top = max(top, numbers[k])
    total = np.float32(0.0)
    for k in range(len(numbers)):
        numbers[k] = exp(numbers[k] - top)
        total += numbers[k]
    total = np.float32(1.0) / total
    for k in range(len(numbers)):
        numbers[k] *= total


@row
def add(factor: float, numbers: Floats, total: Floats) -> None:
    """Add a multiple of a row to another."""
    number = np.float32(factor)
    for k in range(len(total)):
        total[k] += number * numbers[k]


@row
def dot(one: Floats, other: Floats) -> Any:
    """Sum of the products of two rows."""
    total = np.float32(0.0)
    for k in range(len(one)):
        total += one[k] * other[k]
    return total
