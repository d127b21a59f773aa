"""Who can do what: a table of the methods, made from the registry."""

from __future__ import annotations

from decost.method.features import Feature
from decost.planner.door import list_methods

HEADINGS: dict[Feature, str] = {
    "teams": "several vehicles",
    "vehicles": "own start, end, shift, speed",
    "alternatives": "alternatives",
    "required": "required stops",
}


def abilities() -> list[dict[str, str]]:
    """List the methods, each with a yes or no for every feature."""
    return [
        {"method": method.name}
        | {text: "yes" if feature in method.can else "no" for feature, text in HEADINGS.items()}
        for method in list_methods()
    ]
