"""All methods at the same time limit on all families: what `auto` and `search` lose to the others.

    python -m benchmarks.rivals [--time-limit 1] [--count 10] [--seeds 1] [--threads 1]
                                [--families WORD ...]
                                [--solomon FOLDER] [--optw FOLDER] [--methods "METHOD opt=val" ...]
                                [--rows rows.csv] [--out table.csv]

Families are the paper's five settings, `mixed` instances, both without windows, teams, and the
files of the folders: Solomon's with variable profit, KU Leuven's with one and with three
vehicles. Each row is an instance and a method; rows that `--rows` holds already
are kept, so that a run that was ended goes on. The table gives by family and method the mean loss
against the best plan in the rows, also those of other limits, and for methods that have all
families their mean. `auto` has two threads: to compare it with the others, let the command have
one core (`taskset -c 0`).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from benchmarks.common import machine, output, paper_set, table, write_csv

import decost
from decost import Instance

METHODS = (
    "greedy",
    "ils",
    "gfacs",
    "pomo",
    "decost",
    "search",
    "search begin=decost",
    "exact",
    "columns",
    "auto",
)

DRAWING = ("ils", "gfacs", "search", "auto")
"""Methods whose plans depend on the seed."""

HEADING = ("limit", "family", "instance", "method", "profit", "status", "seconds")


def main() -> None:
    """Solve all that is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=1.0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1, help="runs of a method that draws")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--families", nargs="+", help="only those whose name holds such a word")
    parser.add_argument("--solomon", type=Path)
    parser.add_argument("--optw", type=Path)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--rows", type=output, default=Path("rivals.csv"))
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    try:
        rows = kept(given.rows)
    except ValueError as error:
        parser.error(str(error))
    limit = f"{given.time_limit:g}"
    print(machine(), flush=True)
    for family, instances in families(given.count, given.solomon, given.optw):
        if given.families and not any(word in family for word in given.families):
            continue
        for words in with_seeds(given.methods, given.seeds):
            name, *pairs = words.split()
            if name == ("columns" if instances[0].vehicles == 1 else "exact"):
                continue
            done = {
                row["instance"]
                for row in rows
                if (row["limit"], row["family"], row["method"]) == (limit, family, words)
            }
            missing = [instance for instance in instances if instance.name not in done]
            if not missing:
                continue
            options = dict(pair.split("=", 1) for pair in pairs)
            results = decost.solve_many(
                missing, name, threads=given.threads, time_limit=given.time_limit, **options
            )
            with given.rows.open("a", newline="") as file:
                for result in results:
                    assert decost.check(result.instance, result.solution) == []
                    values = (
                        limit,
                        family,
                        result.instance.name,
                        words,
                        repr(result.profit),
                        result.status,
                        f"{result.runtime:.4f}",
                    )
                    csv.writer(file).writerow(values)
                    rows.append(dict(zip(HEADING, values, strict=True)))
            print(family, words, f"{np.mean([r.profit for r in results]):.4f}", flush=True)
    if not any(row["limit"] == limit for row in rows):
        parser.error("--families: there is none whose name holds such a word")
    heading, lines = compared(rows, given.methods, limit)
    print(table(heading, lines))
    if given.out:
        write_csv(given.out, heading, lines)


def with_seeds(methods: Sequence[str], seeds: int) -> list[str]:
    """List methods, and those that draw once more for each further seed."""
    listed = []
    for words in methods:
        more = range(1, seeds if words.split()[0] in DRAWING else 1)
        listed += [words, *(f"{words} seed={seed}" for seed in more)]
    return listed


def without_seed(words: str) -> str:
    """Name a method without its seed."""
    return " ".join(word for word in words.split() if not word.startswith("seed="))


def kept(path: Path) -> list[dict[str, str]]:
    """Read the rows that are there, and drop a last line that a kill left incomplete.

    Raises
    ------
    ValueError
        If the file holds something else.
    """
    head = ",".join(HEADING).encode()
    with path.open("ab+") as file:
        file.seek(0)
        text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        fits = whole.splitlines()[0] == head if whole else head.startswith(text.rstrip())
        if not fits:
            raise ValueError(f"{path}: holds no rows; give another --rows")
        file.truncate(len(whole))
        if not whole:
            file.write(head + b"\r\n")
    return list(csv.DictReader(whole.decode().splitlines()))


def families(
    count: int, solomon: Path | None, optw: Path | None
) -> Iterator[tuple[str, list[Instance]]]:
    """Name all families and give their instances, each with a name of its own."""
    settings = ((50, 100), (100, 100), (50, 500), (100, 500), (500, 100))
    for nodes, window in settings:
        yield f"n={nodes} TW={window}", paper_set(nodes, window, count)
    for nodes in (20, 50, 100):
        yield f"mixed n={nodes}", decost.generate("mixed", nodes=nodes, count=count, seed=2025)
    for nodes, window in settings[:2]:
        yield (
            f"n={nodes} no windows",
            [open_all_day(one) for one in paper_set(nodes, window, count)],
        )
    yield (
        "mixed n=50 no windows",
        [open_all_day(one) for one in decost.generate("mixed", nodes=50, count=count, seed=2025)],
    )
    for nodes, window, vehicles in ((50, 100, 3), (100, 500, 3), (500, 100, 5)):
        yield f"n={nodes} TW={window} x{vehicles}", paper_set(nodes, window, count, vehicles)
    yield (
        "mixed n=50 x2",
        decost.generate("mixed", nodes=50, count=count, vehicles=2, seed=2025),
    )
    if solomon:
        for group, paths in groups(solomon):
            instances = [decost.read(path, profit="variable") for path in paths]
            yield f"{group} variable", named(paths, instances)
    if optw:
        for group, paths in groups(optw):
            yield f"{group} fixed", named(paths, [decost.read(path) for path in paths])
        for group, paths in groups(optw):
            teams = [decost.read(path).replace(vehicles=3) for path in paths]
            yield f"{group} fixed x3", named(paths, teams)


def open_all_day(instance: Instance) -> Instance:
    """Let every stop be served at any time."""
    return instance.replace(
        open=np.zeros(instance.nodes), close=np.full(instance.nodes, instance.budget)
    )


def groups(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """Group benchmark files by their kind: C1, C2, R1, R2, RC1, RC2 and PR."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.txt")):
        kind = path.stem.upper()[:-2]
        found.setdefault(kind, []).append(path)
    yield from found.items()


def named(paths: list[Path], instances: list[Instance]) -> list[Instance]:
    """Name instances by their files."""
    pairs = zip(paths, instances, strict=True)
    return [instance.replace(name=path.stem) for path, instance in pairs]


def compared(
    rows: Sequence[Mapping[str, str]], methods: Sequence[str], limit: str
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Compare methods by family, and over all: mean loss against the best plan of any row."""
    profits: dict[tuple[str, str], dict[str, list[float]]] = {}
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        key, profit = (row["family"], row["instance"]), float(row["profit"])
        best[key] = max(profit, best.get(key, 0.0))
        if row["limit"] == limit:
            some = profits.setdefault(key, {})
            some.setdefault(without_seed(row["method"]), []).append(profit)
    proven = {(r["family"], r["instance"]) for r in rows if r["status"] == "optimal"}
    lines = []
    losses: dict[str, list[float]] = {method: [] for method in methods}
    for family in dict.fromkeys(key[0] for key in profits):
        keys = [key for key in profits if key[0] == family]
        cells = []
        for method in methods:
            if not all(method in profits[key] for key in keys):
                cells.append("")
                continue
            missed = []
            for key in keys:
                share = np.mean(profits[key][method]) / best[key] if best[key] > 0 else 1.0
                missed.append(max(0.0, 1 - share))
            losses[method].append(100 * float(np.mean(missed)))
            cells.append(f"{losses[method][-1]:.3f}%")
        lines.append((family, str(len(keys)), str(sum(key in proven for key in keys)), *cells))
    means = [f"{np.mean(some):.3f}%" if len(some) == len(lines) else "" for some in losses.values()]
    totals = [str(sum(int(line[k]) for line in lines)) for k in (1, 2)]
    lines.append(("mean of all", *totals, *means))
    return ["family", "instances", "proven", *methods], lines


if __name__ == "__main__":
    main()
