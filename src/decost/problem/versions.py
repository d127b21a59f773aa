"""Which version of the file formats an instance needs."""

from __future__ import annotations

from typing import Literal

from decost.problem.instance import Instance


def version_of(instance: Instance) -> Literal[1, 2]:
    """Give the first version of the file formats that can say all of an instance.

    Version 1 knows one alternative a stop, equal vehicles that leave the depot at 0, and one
    travel matrix at most.
    """
    plain = (
        instance.simple
        and instance.alike
        and instance.begin == 0
        and instance.unit is None
        and instance.end == (instance.nodes if instance.separate_end else 0)
        and not instance.places
        and not instance.profiles
        and not instance.required.any()
    )
    return 1 if plain else 2
