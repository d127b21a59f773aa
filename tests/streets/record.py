"""Record what a real Valhalla answers to the questions of the tests: answers.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from loopback import question, serving  # noqa: E402
from town import real_valhalla  # noqa: E402

ANSWERS = Path(__file__).parent / "answers.json"


def asked(url: str, path: str, body: Any) -> tuple[int, Any]:
    """Ask a server."""
    try:
        with urlopen(Request(url + path, json.dumps(body).encode())) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def record(ask: Callable[[str], object]) -> dict[str, Any]:
    """Give all that is answered while something is asked of an address."""
    found: dict[str, Any] = {}
    with TemporaryDirectory() as folder, real_valhalla(Path(folder)) as real:

        def answer(path: str, body: Any) -> tuple[int, Any]:
            found[question(path, body)] = asked(real, path, body)
            return found[question(path, body)]

        with serving(answer) as url:
            ask(url)
    return found


def main() -> None:
    """Ask what the tests ask."""
    from test_streets import questions

    found = record(questions)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found))
    ANSWERS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
