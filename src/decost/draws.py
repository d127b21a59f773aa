"""Random numbers from a state that the caller owns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decost.compiled import lean

RandomState = npt.NDArray[np.uint64]


def random_state(*seed: int) -> RandomState:
    """Make the state of a generator of a seed."""
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return np.maximum(state, np.uint64(1))  # xorshift never leaves 0


@lean
def draw(state: RandomState) -> float:
    """Draw a number from [0, 1), by Marsaglia's xorshift."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return float(word >> np.uint64(11)) * 2.0**-53
