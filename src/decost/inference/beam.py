"""A beam: the likeliest beginnings of routes, carried on side by side.

They are ranked by what the network thinks of their choices. Of two that have visited the same stops
and end at the same one, the exact time-profit functions tell which is worth more, and the other
is dropped. Complete plans are judged by their exact profit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decost.compiled import Halt, jit, lean
from decost.inference.prefix import Scratch, Tensors, encode, show
from decost.inference.problems import Tables, network_of
from decost.inference.walks import NO_SHARE, State, Walks, Wish, begin, go_home, move
from decost.problem.instance import FloatArray, IntArray
from decost.timeline.profile import best_part

NOTHING = -np.inf
"""Score of a row that holds no beginning."""

STAY = -1
"""Instead of a node: a plan is complete, and stays as it is."""


class Beam(NamedTuple):
    """What a beam of so many rows knows of each instance.

    Attributes
    ----------
    score
        Log-probability of all choices of a row, (instance, row).
    origin
        Which row of the turn before a row goes on with, (instance, row).
    """

    score: FloatArray
    origin: IntArray


def make_beam(instances: int, rows: int) -> Beam:
    """Make a beam that has one beginning of each instance, which is empty."""
    score = np.full((instances, rows), NOTHING)
    score[:, 0] = 0.0
    return Beam(score, np.zeros((instances, rows), dtype=np.int64))


class _Ways(NamedTuple):
    """Ways to go on: the score, the row and the node of each."""

    score: FloatArray
    row: IntArray
    node: IntArray


@jit
def walk_beam(
    tensors: Tensors,
    clip: float,
    promising: int,
    tables: Tables,
    wish: Wish,
    scratch: Scratch,
    walks: Walks,
    beam: Beam,
    halt: Halt,
) -> None:
    """Build the routes of one instance after another.

    The beam has half of the samples; the others are room to build in, and worth nothing.
    """
    width = beam.score.shape[1]
    most = width * len(scratch.node)
    ways = _Ways(np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64))
    kept = _Ways(np.empty(width), np.empty(width, np.int64), np.empty(width, np.int64))
    for b in range(len(tables.size)):
        network = network_of(tables, b)
        state = begin(tables, b, network, 2 * width, wish)
        score, origin = beam.score[wish.rows[b]], beam.origin[wish.rows[b]]
        for s in range(width):
            origin[s] = s
        while True:
            count, left = 0, False
            for s in range(width):
                if score[s] == NOTHING:
                    continue
                if state.vehicles[s] >= 0 and halt[0] != 0:
                    go_home(tables, b, network, state, s, wish, walks)
                left = left or state.vehicles[s] >= 0
                if state.vehicles[s] < 0 or state.many[s] == 1:
                    only = STAY if state.vehicles[s] < 0 else 0
                    ways.score[count], ways.row[count], ways.node[count] = score[s], s, only
                    count += 1
                else:
                    show(tensors, tables, b, state, s, 0, promising, scratch, 0)
                    encode(tensors, scratch, 1)
                    count = _go_on(score[s], s, state.held[s], clip, scratch, ways, count)
            if not left:
                break
            found = 0
            for _ in range(2 * width):
                best = _likeliest(ways, count)
                if best < 0 or found == width:
                    break
                row, node, made = ways.row[best], ways.node[best], width + found
                _copy(b, state, wish, walks, row, made)
                if node != STAY:
                    move(tables, b, network, state, made, node, NO_SHARE, wish, walks)
                place = _place_for(b, state, walks, width, made)
                if place >= 0:
                    if place < made:
                        _copy(b, state, wish, walks, made, place)
                    else:
                        found += 1
                    kept.score[place - width] = ways.score[best]
                    kept.row[place - width] = origin[row]
                ways.score[best] = NOTHING
            for s in range(width):
                score[s] = NOTHING
            for s in range(found):
                _copy(b, state, wish, walks, width + s, s)
                score[s], origin[s] = kept.score[s], kept.row[s]
        for s in range(2 * width):
            if s >= width or score[s] == NOTHING:
                walks.value[b, s] = NOTHING


@lean
def _go_on(
    score: float, s: int, held: bool, clip: float, scratch: Scratch, ways: _Ways, count: int
) -> int:
    """List the choices of the one state that is encoded; return how many ways there are then."""
    many = scratch.first[1]
    logit, node = scratch.logit, scratch.node
    top = -np.inf
    for c in range(many):
        logit[c] = clip * np.tanh(logit[c])
        if not (held and node[c] == 0):
            top = max(top, logit[c])
    total = 0.0
    for c in range(many):
        if not (held and node[c] == 0):
            total += np.exp(logit[c] - top)
    for c in range(many):
        if not (held and node[c] == 0):
            ways.score[count] = score + logit[c] - top - np.log(total)
            ways.row[count], ways.node[count] = s, node[c]
            count += 1
    return count


@lean
def _likeliest(ways: _Ways, count: int) -> int:
    """Give the best way that is not taken, the first of equal ones; -1 if there is none."""
    best = -1
    for k in range(count):
        if ways.score[k] > NOTHING and (best < 0 or ways.score[k] > ways.score[best]):
            best = k
    return best


@lean
def _place_for(b: int, state: State, walks: Walks, first: int, made: int) -> int:
    """Say which row a new one takes: its own, that of a twin which is worth less, or none, -1."""
    for other in range(first, made):
        twins = (
            state.place[other] == state.place[made]
            and state.vehicles[other] == state.vehicles[made]
        )
        for j in range(state.visited.shape[1] if twins else 0):
            if state.visited[other, j] != state.visited[made, j]:
                twins = False
                break
        if twins:
            return other if _worth(b, state, walks, made) > _worth(b, state, walks, other) else -1
    return made


@lean
def _worth(b: int, state: State, walks: Walks, s: int) -> float:
    """Tell what a row has earned, and what its time-profit function may still bring."""
    if state.vehicles[s] < 0:
        return float(walks.value[b, s])
    pending = best_part(state.pool[s], 0, state.pieces[s], np.inf)
    return float(walks.value[b, s] + state.front[s, 1] + pending)


@lean
def _copy(b: int, state: State, wish: Wish, walks: Walks, source: int, target: int) -> None:
    """Copy all that is known of a row to another."""
    state.place[target], state.time[target] = state.place[source], state.time[source]
    state.vehicles[target], state.steps[target] = state.vehicles[source], state.steps[source]
    state.many[target], state.held[target] = state.many[source], state.held[source]
    state.pieces[target] = state.pieces[source]
    for j in range(state.visited.shape[1]):
        state.visited[target, j] = state.visited[source, j]
        state.start[target, j] = state.start[source, j]
        state.live[target, j] = state.live[source, j]
    for k in range(3):
        state.front[target, k] = state.front[source, k]
    for k in range(state.pieces[source]):
        state.pool[target, k, 0] = state.pool[source, k, 0]
        state.pool[target, k, 1] = state.pool[source, k, 1]
    for k in range(state.steps[source]):
        walks.nodes[b, target, k] = walks.nodes[b, source, k]
        walks.stays[b, target, k] = walks.stays[b, source, k]
    walks.value[b, target] = walks.value[b, source]
    seen = wish.seen[wish.rows[b]]
    for j in range(seen.shape[1]):
        seen[target, j] = seen[source, j]
