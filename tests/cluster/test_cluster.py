"""Tests of sets that are solved part by part, and of clusters: nothing is lost, whatever dies.

DECOST_CLUSTER=N (a long run: 20) kills workers and commands so many times instead of once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import command_line
import decost
from decost import FormatError, Instance, UnfinishedError
from decost.cluster import connection
from decost.cluster.connection import ClusterError, connect
from decost.cluster.grading import values_on
from decost.files.parts import list_parts, plans_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has other signals")

TIMES = int(os.environ.get("DECOST_CLUSTER", "1"))
PARTS = 6
SIZE = 40 if TIMES == 1 else 2_000


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    """Give a set."""
    return decost.generate("paper", nodes=20, count=PARTS * SIZE, seed=2)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, instances: list[Instance]) -> Path:
    """Give the set in parts."""
    path = tmp_path_factory.mktemp("set") / "instances"
    decost.write_parts(instances, path, size=SIZE)
    return path


@pytest.fixture(scope="module")
def plain(instances: list[Instance]) -> str:
    """Give what `solve_many` makes of the set."""
    results = decost.solve_many(instances, "exact")
    return lines({"index": k} | one.to_dict() for k, one in enumerate(results))


def lines(rows: Iterator[dict[str, Any]]) -> str:
    """Give plans as text, without runtimes."""
    return "\n".join(json.dumps(row | {"runtime": 0.0}) for row in rows)


class Dying(ThreadPoolExecutor):
    """An executor that does so many tasks and dies."""

    def __init__(self, tasks: int) -> None:
        super().__init__(1)
        self.tasks = tasks

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do as told, or fail."""
        self.tasks -= 1
        if self.tasks >= 0:
            return super().submit(function, *args, **kwargs)
        future: Future[Any] = Future()
        future.set_exception(BrokenExecutor("gone"))
        return future


@pytest.mark.parametrize("name", ["plans", "plans.parquet"])
def test_parts_are_as_one_set(tmp_path: Path, source: Path, plain: str, name: str) -> None:
    """A run that died goes on with its finished parts, and ends with the plans of `solve_many`."""
    out = tmp_path / name
    folder = out if not out.suffix else tmp_path / "plans.parquet.part"
    with Dying(3) as pool, pytest.raises(UnfinishedError, match=f"3 of {PARTS} parts are kept"):
        decost.solve_parts(source, out, "exact", executor=pool, threads=1)
    times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert len(times) == 3
    told: list[int] = []
    summary = decost.solve_parts(
        source, out, "exact", progress=lambda done, total: told.append(done)
    )
    assert told[0] == 3 * SIZE
    assert told[-1] == summary.instances == summary.optimal == PARTS * SIZE
    assert lines(plans_in(out)) == plain
    if folder == out:
        assert all(path.stat().st_mtime_ns == when for path, when in times.items())
    else:
        assert not folder.exists()


def test_other_plans_are_in_nobodys_way(tmp_path: Path, source: Path) -> None:
    """Plans of another run, a torn part and instances are named and stay; --restart takes all."""
    out = tmp_path / "plans"
    decost.solve_parts(source, out, "greedy")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(FormatError, match=r"plans/part-00000.parquet: is of another run"):
        decost.solve_parts(source, out, "exact")
    torn = out / "part-00002.parquet"
    torn.write_bytes(before[torn.name][:100])
    with pytest.raises(FormatError, match=r"plans/part-00002.parquet: is torn"):
        decost.solve_parts(source, out, "greedy")
    torn.unlink()
    decost.solve_parts(source, out, "greedy")
    assert {path.name for path in out.iterdir()} == set(before)
    torn.write_bytes(before[torn.name][:100])
    assert decost.solve_parts(source, out, "exact", restart=True).optimal == PARTS * SIZE
    with pytest.raises(FormatError, match="is the folder of the instances"):
        decost.solve_parts(source, source, "greedy", restart=True)
    decost.write_parts(decost.generate("paper", nodes=5, count=2), tmp_path / "others")
    with pytest.raises(FormatError, match=r"others/part-00000.parquet: is in the way"):
        decost.solve_parts(source, tmp_path / "others", "greedy", restart=True)


def test_a_full_disk(tmp_path: Path, source: Path, plain: str) -> None:
    """On a full disk finished parts are kept, and with more room the same call goes on."""
    out = tmp_path / "small"
    out.mkdir()
    size = f"size={16 * SIZE // 40}k"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(out)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system")
    try:
        with pytest.raises(OSError, match=r"No space left on device; \d of \d parts are kept"):
            decost.solve_parts(source, out, "exact")
        assert not [path for path in out.iterdir() if path.suffix != ".parquet"]
        room = ["mount", "-o", "remount,size=64m", str(out)]
        subprocess.run(room, check=True)
        decost.solve_parts(source, out, "exact")
        assert lines(plans_in(out)) == plain
    finally:
        subprocess.run(["umount", str(out)], check=True)


def test_bad_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address nobody listens at, nonsense, and workers of another version are one clear line."""
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    for words, why in (
        ("tcp://127.0.0.1:9", "tcp://127.0.0.1:9: nobody answers there"),
        ("local:0", "must be local:N, or an address"),
        ("nonsense", "must be local:N, or an address"),
    ):
        with pytest.raises(ClusterError, match=why), connect(words):
            pass
    import distributed

    settings = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "protocol": "tcp://"}
    with distributed.LocalCluster(**settings, dashboard_address=None) as there:
        address = there.scheduler_address
        with connect(address) as found:
            assert found.workers == 1
        monkeypatch.setattr(connection, "__version__", "9.9")
        other = r"worker .*: has decost .*, and this is 9\.9"
        with pytest.raises(ClusterError, match=other), connect(address):
            pass


def test_graded_states_are_the_same() -> None:
    """Values of next steps that an executor finds are those of `values_to_go`."""
    instances = decost.generate("paper", nodes=12, count=3, seed=1)
    some = [instances[k] for k in (0, 1, 2, 0, 1)]
    routes: list[list[int]] = [[], [], [], [1], []]
    routes[3] = [int(decost.solve(instances[0], "exact").solution.routes[0].visits[0].stop)]
    wanted = [np.ones(12, dtype=np.bool_) for _ in some]
    with ThreadPoolExecutor(2) as pool:
        found = values_on(pool)(some, routes, wanted=wanted)
    plain = decost.values_to_go(some, routes, wanted=wanted)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(found, plain, strict=True))


def has_parts(folder: Path, count: int) -> bool:
    """Whether so many parts are finished."""
    return len(list(folder.glob("*.parquet"))) >= count


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is so, or the process has ended."""
    end = time.monotonic() + 120
    while not ready() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


def workers(process: subprocess.Popen[str]) -> list[Any]:
    """List the workers of a command."""
    import psutil

    found = psutil.Process(process.pid).children(recursive=True)
    return [one for one in found if "spawn_main" in " ".join(one.cmdline())]


def test_workers_and_commands_are_killed(tmp_path: Path, source: Path, plain: str) -> None:
    """A worker that is killed is replaced, a command that is killed goes on, to equal plans."""
    for number in range(TIMES):
        out = tmp_path / f"plans{number}"
        words = ["solve", source, "--method", "exact", "--out", out, "--cluster", "local:2"]
        command = command_line.start(*words)
        wait_for(partial(has_parts, out, 1), command)
        command.kill()
        _, err = command.communicate(timeout=300)
        assert "watch them at http://" in err
        command = command_line.start(*words)
        finished = len(list(out.glob("*.parquet")))
        for more in range(1, 1 + (TIMES > 1) * PARTS // 2 + 1):
            wait_for(partial(has_parts, out, finished + more), command)
            if command.poll() is None and (found := workers(command)):
                os.kill(found[0].pid, signal.SIGKILL)
        _, err = command.communicate(timeout=300)
        assert command.returncode == 0, err
        assert lines(plans_in(out)) == plain
        names = sorted(path.name for path in out.iterdir())
        assert names == [one.name for one in list_parts(source)]
