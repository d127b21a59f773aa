"""Values that are worked out once, when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801
        """Like that of functools, which until Python 3.11 has a lock that a fork may leave shut."""

        def __init__(self, function):
            self.function = function
            self.__doc__ = function.__doc__

        def __get__(self, thing, owner=None):
            if thing is None:
                return self
            value = thing.__dict__[self.function.__name__] = self.function(thing)
            return value
