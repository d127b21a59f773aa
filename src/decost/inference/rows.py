"""Loops over rows of float32 that become vector instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from decost.compiled import DISABLED, compile_with

Floats = npt.NDArray[np.float32]
Function = TypeVar("Function", bound=Callable[..., object])


def vectors(function: Function) -> Function:
    """Compile a kernel in which sums may be taken in any order."""
    return compile_with(function, fastmath=True)


def row(function: Function) -> Function:
    """Compile a short function that makes no arrays, in the same way (`decost.compiled.lean`)."""
    return compile_with(function, fastmath=True, _nrt=False)


def steady(function: Function) -> Function:
    """Compile the same, with sums in the order as they are written, which makes them exacter."""
    return compile_with(function, fastmath={"contract"}, _nrt=False)


@row
def exp(x: Any) -> Any:
    """Exponential of a number that is at most 88; unlike the library's, loops of it are vectors.

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
def copy(numbers: Floats, target: Floats) -> None:
    """Write a row over another."""
    for k in range(len(target)):
        target[k] = numbers[k]


@row
def add(factor: Any, numbers: Floats, total: Floats) -> None:
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


@row
def silu(numbers: Floats) -> None:
    """Multiply numbers by their logistic function, in place."""
    for k in range(len(numbers)):
        other = exp(min(-numbers[k], np.float32(87.0)))
        numbers[k] /= np.float32(1.0) + other


@steady
def _multiply(rows: int, a: Floats, b: Floats, total: Floats) -> None:
    """Add the product of the first rows of a matrix with another one to a third.

    Two rows and four products at a time keep the processor busy; it is about as quick as a library
    for matrices that fit into its caches, and the answer for a row never depends on the others.
    Four products are summed before they are added to a total that is larger, so that less is lost.
    """
    inner, columns = b.shape
    for i in range(0, rows - 1, 2):
        x, y, s, t = a[i], a[i + 1], total[i], total[i + 1]
        k = 0
        while k + 4 <= inner:
            x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
            y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
            b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
            for j in range(columns):
                s[j] += x0 * b0[j] + x1 * b1[j] + x2 * b2[j] + x3 * b3[j]
                t[j] += y0 * b0[j] + y1 * b1[j] + y2 * b2[j] + y3 * b3[j]
            k += 4
        while k < inner:
            add(x[k], b[k], s)
            add(y[k], b[k], t)
            k += 1
    if rows % 2:
        i = rows - 1
        k = 0
        x, s = a[i], total[i]
        while k + 4 <= inner:
            x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
            b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
            for j in range(columns):
                s[j] += x0 * b0[j] + x1 * b1[j] + x2 * b2[j] + x3 * b3[j]
            k += 4
        while k < inner:
            add(x[k], b[k], s)
            k += 1


def _multiply_by_numpy(rows: int, a: Floats, b: Floats, total: Floats) -> None:
    total[:rows] += a[:rows, : len(b)] @ b


multiply: Any = _multiply_by_numpy if DISABLED else _multiply
"""Add the product of the first rows of a matrix with another one to a third."""
