"""A method with its options as one thing: what is measured, and what tables name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from decost.bench import BenchError


@dataclass(frozen=True)
class Contender:
    """A method with some of its options; those that are not given have their defaults.

    Attributes
    ----------
    method
        Name of the method.
    options
        Names and values of the options, in order of their names; every value as text, so that
        10 and 10.0 are the same.
    label
        What tables call it, if not by its method and options.
    """

    method: str
    options: tuple[tuple[str, str], ...] = ()
    label: str = ""

    @classmethod
    def of(cls, method: str, label: str = "", **options: object) -> Contender:
        """Make one of a method and its options."""
        texts = ((name, _text(value)) for name, value in sorted(options.items()))
        return cls(method, tuple(texts), label)

    @classmethod
    def parse(cls, text: str) -> Contender:
        """Read what a command line says, such as "ils time_limit=10".

        Raises
        ------
        BenchError
            If something after the method is not like option=value.
        """
        method, *pairs = text.split() or [""]
        for pair in pairs:
            if "=" not in pair:
                raise BenchError(f"method {text!r}: {pair!r} is not like option=value")
        return cls.of(method, **dict(pair.split("=", 1) for pair in pairs))

    @property
    def given(self) -> dict[str, Any]:
        """The options, to be passed on to `solve`."""
        return dict(self.options)

    def get(self, option: str) -> str | None:
        """Value of an option, None if it is not given."""
        return self.given.get(option)

    def having(self, **options: object) -> Contender:
        """Give it more options, or others."""
        return Contender.of(self.method, self.label, **(self.given | options))

    def without(self, *options: str) -> Contender:
        """Leave out options, and the label."""
        kept = {name: text for name, text in self.options if name not in options}
        return Contender.of(self.method, **kept)

    def named(self, label: str) -> Contender:
        """Give it another name."""
        return Contender(self.method, self.options, label)

    def __str__(self) -> str:
        """Name it: by its label, or by its method and options."""
        return self.label or " ".join((self.method, *(f"{k}={v}" for k, v in self.options)))


def contenders(text: str) -> tuple[Contender, ...]:
    """Read several, with commas between them."""
    return tuple(Contender.parse(part) for part in text.split(","))


def _text(value: object) -> str:
    """Write a value so that equal ones have equal texts."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and not text.isdigit() else text


Entrant = Annotated[
    Contender, BeforeValidator(lambda one: Contender.parse(one) if isinstance(one, str) else one)
]
"""A field of a configuration that is a contender; a text is read as one."""
