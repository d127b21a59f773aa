"""An instance with some of its stops alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from decost.problem.fields import IntArray

if TYPE_CHECKING:
    from decost.problem.instance import Instance


def only_stops(instance: Instance, stops: Sequence[int] | IntArray) -> Instance:
    """Copy an instance with these stops alone; see `Instance.only`."""
    nodes = np.array([0, *stops], dtype=np.int64)
    chosen, own, first = nodes, np.arange(len(nodes)), None
    if instance.alternative_count != instance.stops or not instance.simple:
        number = np.diff(instance.alternative_first)[nodes]
        first = np.concatenate(([0], np.cumsum(number)))
        shift = instance.alternative_first[nodes] - first[:-1]
        chosen = np.arange(first[-1]) + np.repeat(shift, number)
        own = np.repeat(own, number)
    rows, names = _rows(instance, nodes, chosen)
    new = np.zeros(instance.nodes + instance.separate_end + len(instance.places), dtype=np.int64)
    new[rows[::-1]] = np.arange(len(rows))[::-1]
    place = None
    if not instance.simple:
        given = instance.alternative_place[chosen]
        place = np.where(given == instance.alternative_stop[chosen], own, new[given])
    fleet = None
    if not instance.alike:
        fleet = [
            replace(one, start=int(new[one.start]), end=int(new[one.end])) for one in instance.fleet
        ]
    travel = instance.matrix
    if travel is not None:
        travel = travel[np.ix_(rows, rows)]
    elif instance.matrices is not None:
        travel = instance.matrices[:, rows[:, None], rows]
    admits, pieces = instance.alternative_vehicles, instance.pieces
    return instance.replace(
        xy=None if instance.xy is None else instance.xy[rows],
        travel=travel,
        profiles=instance.profiles,
        **{
            field: getattr(instance, f"alternative_{field}")[chosen]
            for field in ("open", "close", "leave_by", "reward", "min_stay")
        },
        pieces=[pieces[k] for k in chosen],
        ids=None if instance.ids is None else [instance.ids[stop - 1] for stop in stops],
        required=instance.required[nodes],
        places=names,
        end=int(new[instance.end]),
        fleet=fleet,
        alternative_first=first,
        alternative_place=place,
        alternative_vehicles=None if admits is None else admits[chosen],
    )


def _rows(instance: Instance, nodes: IntArray, chosen: IntArray) -> tuple[IntArray, list[str]]:
    """Give the places that are left, and the names of those behind the stops."""
    rows = np.append(nodes, instance.nodes) if instance.separate_end else nodes
    used = {instance.end}
    if not instance.simple:
        used.update(instance.alternative_place[chosen].tolist())
    if not instance.alike:
        used.update(place for one in instance.fleet for place in (one.start, one.end))
    behind = instance.nodes + instance.separate_end
    kept = {
        behind + k: name for k, name in enumerate(instance.places) if name or behind + k in used
    }
    for place in sorted(used.difference(rows.tolist(), kept)):
        name = str(instance.label(place))
        kept[place] = "" if name in instance.places else name
    return np.append(rows, np.array(list(kept), dtype=np.int64)), list(kept.values())
