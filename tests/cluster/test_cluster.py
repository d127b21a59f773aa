"""Tests of sets that are solved part by part, and of clusters: nothing is lost, whatever dies.

DECOST_CLUSTER=N (a long run: 20) kills workers and commands so many times instead of once.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

import command_line
import decost
import decost.bench
from decost import FormatError, Instance, UnfinishedError
from decost.bench.runner import run_bench
from decost.bench.schema import Folders
from decost.cluster import connection
from decost.cluster.connection import ClusterError, connect
from decost.cluster.grading import values_on
from decost.files import parts as parts_module
from decost.files.parts import list_parts, plans_in
from decost.learn.config import TrainConfig
from decost.learn.train import start_run, train
from small_runs import TINY, bits, nothing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has other signals")

TIMES = int(os.environ.get("DECOST_CLUSTER", "1"))
PARTS = 6
VERSION = decost.__version__
SOURCES = Path(decost.__file__).parents[1]
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


@pytest.mark.filterwarnings("ignore:Creating scratch directories")  # Dask's, where much else runs
def test_bad_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address nobody listens at, nonsense, and workers of another version are one clear line."""
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    for words, why in (
        ("tcp://127.0.0.1:9", "tcp://127.0.0.1:9: nobody answers there"),
        ("tls://127.0.0.1:9", "tls://127.0.0.1:9: TLS expects"),
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


class Elsewhere(ThreadPoolExecutor):
    """An executor whose workers write to a folder that is not here."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do as told, and take away what was written."""

        def done() -> Any:
            answer = function(*args, **kwargs)
            args[0].out.unlink()
            return answer

        return super().submit(done)


def test_folders_that_are_not_shared(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts that are elsewhere, other files of their names and missing ones are told in a line."""
    monkeypatch.setattr(parts_module, "PATIENCE", 0.2)
    out = tmp_path / "plans"
    with Elsewhere(1) as pool, pytest.raises(FormatError, match=r"part-00000.parquet: is not here"):
        decost.solve_parts(source, out, "greedy", executor=pool)
    mine = tmp_path / "instances"
    shutil.copytree(source, mine)
    others = tmp_path / "others"
    decost.write_parts(decost.generate("paper", nodes=20, count=SIZE, seed=9), others)
    with ThreadPoolExecutor(1) as pool:
        plan = partial(decost.solve_parts, mine, out, "greedy", executor=pool, threads=1)

        def change(done: int, total: int) -> None:
            """Put another set's part in the place of one when two are solved."""
            if done == 2 * SIZE:
                shutil.copy(others / "part-00000.parquet", mine / "part-00004.parquet")

        with pytest.raises(FormatError, match=r"part-00004.parquet: is not what it was when"):
            plan(progress=change)
        shutil.copy(source / "part-00004.parquet", mine)

        def remove(done: int, total: int) -> None:
            (mine / "part-00005.parquet").unlink(missing_ok=True)

        gone = rf"part-00005.parquet.*No such file or directory on {re.escape(gethostname())}; "
        with pytest.raises(FileNotFoundError) as caught:
            plan(progress=remove)
        assert re.search(gone, f"{caught.value.filename}: {caught.value.strerror}")
        shutil.copy(source / "part-00005.parquet", mine)
        assert plan().instances == PARTS * SIZE


def test_one_command_at_a_time(tmp_path: Path, source: Path) -> None:
    """While a folder is being filled nobody else writes there, with --restart least of all."""
    out = tmp_path / "plans"

    def intrude(done: int, total: int) -> None:
        with pytest.raises(FormatError, match="plans: another process is at work on it"):
            decost.solve_parts(source, out, "exact", restart=True)

    decost.solve_parts(source, out, "greedy", progress=intrude)
    assert decost.solve_parts(source, out, "exact", restart=True).optimal == PARTS * SIZE


def test_files_of_plans_have_names_of_their_own(tmp_path: Path) -> None:
    """Two groups of rows in a file do not get the name of another file's plans."""
    instances = decost.generate("paper", nodes=6, count=5, seed=1)
    made, joined = tmp_path / "made", tmp_path / "a.parquet"
    decost.write_parts(instances[:4], joined, size=2)
    decost.write_parts(instances[4:], tmp_path / "b.parquet")
    made.mkdir()
    joined.rename(made / "a.parquet")
    (tmp_path / "b.parquet").rename(made / "a-00001.parquet")
    out = tmp_path / "plans"
    assert decost.solve_parts(made, out, "greedy").instances == 5
    rows = list(plans_in(out))
    assert [row["index"] for row in rows] == list(range(5))
    listed = [one for some in decost.read_parts(made) for one in some]
    plain = [one.profit for one in decost.solve_many(listed, "greedy")]
    assert [row["profit"] for row in rows] == plain


def test_dask_does_benches_and_grades(tmp_path: Path) -> None:
    """A bench, a set and a training come to the same by a worker of Dask as without one."""
    instances = decost.generate("paper", nodes=12, count=8, seed=3)
    bench = decost.bench.get_bench("main")
    changes = {"methods": "greedy, exact", "settings": "12:100", "count": 3}
    with connect("local:1") as crew:
        found = decost.solve_many(instances, "exact", executor=crew.executor)
        masked = crew.executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
        assert signal.SIGINT in masked  # Ctrl-C in a terminal is for the command alone
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        by_crew: dict[str, Any] = {"executor": crew.executor}
        for name, how in (("crew", by_crew), ("here", {})):
            run_bench(bench, "quick", Folders(tmp_path / name), **how, **changes)
        values = {"crew": values_on(crew.executor), "here": decost.values_to_go}
        for name, graded in values.items():
            run = start_run(TrainConfig(**TINY, teacher="exact"), tmp_path / f"run-{name}")
            train(run, nothing, values_of=graded)
    plain = decost.solve_many(instances, "exact")
    assert [one.solution for one in found] == [one.solution for one in plain]
    tables = []
    for name in ("crew", "here"):
        with (tmp_path / name / "main-quick.csv").open() as file:
            tables.append([(row["method"], row["score"]) for row in csv.DictReader(file)])
    assert tables[0] == tables[1]
    assert len(tables[0]) == 2
    paths = [tmp_path / f"run-{name}" / "weights.safetensors" for name in values]
    assert bits(load_file(paths[0])) == bits(load_file(paths[1]))


def has_parts(folder: Path, count: int) -> bool:
    """Whether so many parts are finished."""
    return len(list(folder.glob("*.parquet"))) >= count


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[Any]) -> None:
    """Wait until something is so, or the process has ended."""
    end = time.monotonic() + 300
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


class Machines:
    """A scheduler and workers of Dask, each with folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def scheduler(self, port: str = "0") -> subprocess.Popen[bytes]:
        """Start a scheduler, and wait until it listens."""
        told = self.folder / f"scheduler{len(self.processes)}.json"
        words = ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"]
        process = self._start([*words, "--scheduler-file", str(told)], os.environ)
        wait_for(lambda: told.exists() and bool(told.read_text()), process)
        self.address = json.loads(told.read_text())["address"]
        return process

    def worker(self, path: str = "") -> subprocess.Popen[bytes]:
        """Start a worker, with a cache, a folder and perhaps a package of its own."""
        home = self.folder / f"home{len(self.processes)}"
        home.mkdir()
        own = {"NUMBA_CACHE_DIR": str(home / "cache"), "TMPDIR": str(home), "HOME": str(home)}
        path = os.pathsep.join(filter(None, (path, str(SOURCES), os.environ.get("PYTHONPATH"))))
        words = ["worker", self.address, "--nworkers", "1", "--nthreads", "1", "--no-dashboard"]
        return self._start([*words, "--no-nanny"], os.environ | own | {"PYTHONPATH": path}, home)

    def _start(self, words: list[str], env: Any, cwd: Path | None = None) -> Any:
        command = [sys.executable, "-m", "dask", *words]
        log = (self.folder / f"log{len(self.processes)}").open("wb")
        process = subprocess.Popen(command, env={**env}, cwd=cwd, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def end(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """Give machines that are not there yet."""
    machines = Machines(tmp_path)
    yield machines
    machines.end()


@pytest.mark.skipif(TIMES == 1, reason="every worker compiles: DECOST_CLUSTER=2")
def test_machines_of_their_own(tmp_path: Path, machines: Machines, source: Path) -> None:
    """A worker with another version is named; two that share nothing but parts solve a set.

    When the scheduler is killed the command says so and ends; with another one it goes on.
    """
    method = "greedy" if TIMES == 1 else "exact"  # to compile takes a minute for each worker
    old = tmp_path / "old" / "decost"
    old.mkdir(parents=True)
    for one in (SOURCES / "decost").iterdir():
        if one.name not in ("__init__.py", "__pycache__"):
            (old / one.name).symlink_to(one)
    text = (SOURCES / "decost" / "__init__.py").read_text()
    (old / "__init__.py").write_text(text.replace(f'"{VERSION}"', '"0.0.9"'))
    scheduler = machines.scheduler()
    other = machines.worker(str(old.parent))
    out = tmp_path / "plans"
    words = ["solve", source, "--method", method, "--out", out, "--cluster", machines.address]
    refused = command_line.run(*words)
    assert refused.code == 2
    why = rf"decost: --cluster \S+: worker \S+: has decost 0\.0\.9, and this is {VERSION}: "
    assert re.search(why, refused.err), refused.err
    assert not out.exists() or not list(out.iterdir())
    other.kill()
    other.wait()

    workers = [machines.worker(), machines.worker()]
    command = command_line.start(*words)
    wait_for(partial(has_parts, out, 1), command)
    scheduler.kill()
    _, err = command.communicate(timeout=300)
    if command.returncode:  # else it was faster
        assert command.returncode == 2
        assert "Traceback" not in err
        assert re.search(rf"the executor has died: .*; \d of {PARTS} parts are kept", err), err
    for one in workers:
        one.kill()
    machines.scheduler(machines.address.rpartition(":")[2])
    machines.worker()
    machines.worker()
    command = command_line.start(*words)
    _, err = command.communicate(timeout=600)
    assert command.returncode == 0, err
    results = decost.solve_many([one for some in decost.read_parts(source) for one in some], method)
    plain = ({"index": k} | one.to_dict() for k, one in enumerate(results))
    assert lines(plans_in(out)) == lines(plain)
