"""The workers that `--cluster` names: processes on this machine, or those of a Dask scheduler."""

from __future__ import annotations

import logging
import pkgutil
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

from decost import __version__

PATIENCE = 10
"""Seconds to wait for an answer of a scheduler."""

DEATHS = 20
"""Workers that may die at one task before it is given up, on this machine."""


SETTINGS = {
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.worker.profile.enabled": False,  # looks at every thread a hundred times a second
    "distributed.admin.tick.interval": "1s",  # how late it is; every 20 ms takes 1% of a core
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.gil.enabled": False,
}
"""How Dask is to run on this machine: it should take no time from those who solve."""


class ClusterError(ValueError):
    """There is no such cluster, or it is not fit for work; in one line."""


@dataclass(frozen=True)
class Cluster:
    """Workers that are there.

    Attributes
    ----------
    executor
        Who takes work for them.
    workers
        How many tasks they do at a time.
    dashboard
        Address of the page that shows what they do.
    """

    executor: Executor
    workers: int
    dashboard: str


@contextmanager
def connect(words: str, *, waiting: Callable[[], object] = lambda: None) -> Iterator[Cluster]:
    """Start workers, or connect to those that are there.

    Parameters
    ----------
    words
        "local:4" for so many processes on this machine, which end with this, or the address of a
        scheduler: "tcp://host:8786".
    waiting
        Called if a scheduler has no workers yet; this waits for the first.

    Raises
    ------
    ClusterError
        If dask is missing, nobody listens there, or a worker has another version of the package.
    """
    local = re.fullmatch(r"local:(\d{1,4})", words)
    if not ((local and int(local[1]) > 0) or re.match(r"(tcp|tls|ws|wss|ucx)://.", words)):
        raise ClusterError(f"--cluster {words}: must be local:N, or an address as tcp://host:8786")
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"--cluster {words}: needs {error.name}, which comes with: "
            "pip install 'decost[cluster]'"
        ) from None
    _be_quiet()
    with _client(distributed, words, int(local[1]) if local else 0) as client:
        if not client.nthreads():
            waiting()
            client.wait_for_workers(1)
        _require_version(words, client)
        count = sum(client.nthreads().values())
        executor = client.get_executor(pure=False)
        yield Cluster(executor, count, client.dashboard_link or "none")


def _be_quiet() -> None:
    """Let Dask log nothing: what matters is said in our words."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def _client(distributed: Any, words: str, local: int) -> Iterator[Any]:
    import dask

    with (
        warnings.catch_warnings(),
        dask.config.set(SETTINGS),
    ):
        warnings.simplefilter("ignore")
        if not local:
            try:
                client = distributed.Client(words, timeout=PATIENCE)
            except (OSError, ValueError, TimeoutError):
                raise ClusterError(
                    f"--cluster {words}: nobody answers there; start it with: dask scheduler"
                ) from None
            except (TypeError, RuntimeError, ImportError) as error:  # as of tls without keys
                raise ClusterError(f"--cluster {words}: {' '.join(str(error).split())}") from None
            with client:
                yield client
            return
        with distributed.LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            memory_limit=distributed.system.MEMORY_LIMIT // local,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster:
            cluster.sync(_ignore_interrupts)
            cluster.scale(local)
            with distributed.Client(cluster) as client:
                client.wait_for_workers(local)
                yield client


async def _ignore_interrupts() -> None:
    """Keep Ctrl-C from processes that this thread starts: who started them ends them."""
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # its start would let signals through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _require_version(words: str, client: Any) -> None:
    """Refuse workers that have no decost, or another version of it."""
    found = client.run(pkgutil.resolve_name, "decost:__version__", on_error="return")
    for address, version in found.items():
        if isinstance(version, BaseException):
            with suppress(KeyError):
                address = client.scheduler_info()["workers"][address]["name"]
            raise ClusterError(f"--cluster {words}: worker {address}: has no decost: {version}")
        if version != __version__:
            raise ClusterError(
                f"--cluster {words}: worker {address}: has decost {version}, and this is "
                f"{__version__}: install the same version everywhere"
            )
