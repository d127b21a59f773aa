"""What is wrong with data that a schema refuses, in one line."""

from __future__ import annotations

from pydantic import ValidationError

_PLAIN_WORDS = {
    "missing": "missing",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}


def first_fault(error: ValidationError, *, prefix: str = "", unknown: str = "unknown field") -> str:
    """Say in one line what is wrong first: the field, its value, and why.

    Parameters
    ----------
    error
        What the schema says.
    prefix
        What comes before a field, such as "option ".
    unknown
        What is said of a field that there is not.
    """
    first = error.errors(include_url=False)[0]
    words = _PLAIN_WORDS | {"extra_forbidden": unknown}
    why = words.get(first["type"], first["msg"].removeprefix("Value error, "))
    field = ""
    for part in first["loc"]:
        field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else str(part)
    about_all = first["type"] == "value_error" and isinstance(first["input"], dict)
    if about_all and not field:
        return why
    value = "" if about_all or first["type"] == "missing" else f" = {shortened(first['input'])}"
    return f"{prefix}{_printable(field) or 'content'}{value}: {why}"


def shortened(value: object) -> str:
    """Show a value in a few characters."""
    if isinstance(value, list | dict):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _printable(field: str) -> str:
    """Make one short line of a field that may be named by a file."""
    line = "".join(character if character.isprintable() else " " for character in field)
    return line if len(line) <= 200 else line[:197] + "..."
