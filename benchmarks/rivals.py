"""All methods at the same time limit on all families: what `auto` and `search` lose to the others.

    python -m benchmarks.rivals [--time-limit 1] [--count 10] [--seeds 1] [--threads 1]
                                [--families WORD ...]
                                [--solomon FOLDER] [--optw FOLDER] [--methods "METHOD opt=val" ...]
                                [--rows rows.csv] [--out table.csv] [--pairs pairs.csv]

Families are the paper's five settings, `mixed` instances, both without windows, teams, and the
files of the folders: Solomon's with variable profit, KU Leuven's with one and with three
vehicles. Each row is an instance and a method; rows that `--rows` holds already
are kept, so that a run that was ended goes on. The table gives by family and method the mean loss
against the best plan in the rows, also those of other limits, and for methods that have all
families their mean; `--pairs` is for how far each method is ahead of each other one, with standard
errors. `auto` has two threads: to compare it with the others, let the command have
one core (`taskset -c 0`).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TypeAlias

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

DRAWN = 10
"""Least number of instances of a family that are drawn; fewer are the first of these."""

EQUAL = 0.0005
"""Difference in percent below which two methods are equal."""

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
    parser.add_argument("--pairs", type=output)
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
    if given.pairs:
        write_csv(given.pairs, PAIRS, paired(rows, given.methods, limit))


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

    def paper(nodes: int, window: float, vehicles: int = 1) -> list[Instance]:
        # They are drawn together, so that other instances come out for another number.
        return paper_set(nodes, window, max(count, DRAWN), vehicles)[:count]

    settings = ((50, 100), (100, 100), (50, 500), (100, 500), (500, 100))
    for nodes, window in settings:
        yield f"n={nodes} TW={window}", paper(nodes, window)
    for nodes in (20, 50, 100):
        yield f"mixed n={nodes}", decost.generate("mixed", nodes=nodes, count=count, seed=2025)
    for nodes, window in settings[:2]:
        yield (
            f"n={nodes} no windows",
            [open_all_day(one) for one in paper(nodes, window)],
        )
    yield (
        "mixed n=50 no windows",
        [open_all_day(one) for one in decost.generate("mixed", nodes=50, count=count, seed=2025)],
    )
    for nodes, window, vehicles in ((50, 100, 3), (100, 500, 3), (500, 100, 5)):
        yield f"n={nodes} TW={window} x{vehicles}", paper(nodes, window, vehicles)
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


Losses: TypeAlias = dict[str, dict[str, dict[str, float]]]
"""By family, instance and method: mean loss over the seeds, in percent of the best plan."""


def losses_of(rows: Sequence[Mapping[str, str]], limit: str) -> Losses:
    """Work out losses at a limit against the best plan of any row."""
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["family"], row["instance"]
        best[key] = max(float(row["profit"]), best.get(key, 0.0))
    several: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row["limit"] == limit:
            key = row["family"], row["instance"]
            share = float(row["profit"]) / best[key] if best[key] > 0 else 1.0
            several.setdefault((*key, without_seed(row["method"])), []).append(100 * (1 - share))
    losses: Losses = {}
    for (family, instance, method), some in several.items():
        losses.setdefault(family, {}).setdefault(instance, {})[method] = float(np.mean(some))
    return losses


def compared(
    rows: Sequence[Mapping[str, str]], methods: Sequence[str], limit: str
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Compare methods by family, and over all: their mean losses."""
    proven = {(row["family"], row["instance"]) for row in rows if row["status"] == "optimal"}
    lines = []
    means: dict[str, list[float]] = {method: [] for method in methods}
    for family, instances in losses_of(rows, limit).items():
        cells = []
        for method in methods:
            if all(method in some for some in instances.values()):
                means[method].append(np.mean([some[method] for some in instances.values()]))
                cells.append(f"{means[method][-1]:.3f}%")
            else:
                cells.append("")
        done = sum((family, instance) in proven for instance in instances)
        lines.append((family, str(len(instances)), str(done), *cells))
    last = [f"{np.mean(some):.3f}%" if len(some) == len(lines) else "" for some in means.values()]
    totals = [str(sum(int(line[k]) for line in lines)) for k in (1, 2)]
    lines.append(("mean of all", *totals, *last))
    return ["family", "instances", "proven", *methods], lines


PAIRS = (
    "method",
    "other",
    "families",
    "instances",
    "ahead",
    "standard error",
    "families ahead",
    "families behind",
    "most behind",
    "there",
    "standard error there",
)


def paired(
    rows: Sequence[Mapping[str, str]], methods: Sequence[str], limit: str
) -> list[tuple[str, ...]]:
    """Say of each pair of methods by how much one is ahead of the other on the same instances.

    Standard errors are over instances; a family where they differ by less than 0.0005% of the
    best plan counts neither as ahead nor as behind.
    """
    losses = losses_of(rows, limit)
    lines = []
    for one, other in product(methods, methods):
        ahead = {
            family: [some[other] - some[one] for some in instances.values()]
            for family, instances in losses.items()
            if all({one, other} <= some.keys() for some in instances.values())
        }
        if one == other or not ahead:
            continue
        means = {family: float(np.mean(some)) for family, some in ahead.items()}
        worst = min(means, key=means.__getitem__)
        every = [value for some in ahead.values() for value in some]
        lines.append(
            (
                one,
                other,
                str(len(ahead)),
                str(len(every)),
                f"{np.mean(every):.3f}%",
                standard_error(every),
                str(sum(mean >= EQUAL for mean in means.values())),
                str(sum(mean <= -EQUAL for mean in means.values())),
                f"{max(0.0, -means[worst]):.3f}%",
                worst if means[worst] <= -EQUAL else "",
                standard_error(ahead[worst]),
            )
        )
    return lines


def standard_error(values: Sequence[float]) -> str:
    """How far their mean may be from that of many such values; nobody knows of a single one."""
    if len(values) < 2:
        return ""
    return f"{np.std(values, ddof=1) / np.sqrt(len(values)):.3f}%"


if __name__ == "__main__":
    main()
