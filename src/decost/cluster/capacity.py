"""What a scheduler bears: empty tasks for many workers, all in this process.

Called as `python -m decost.cluster.capacity [WORKERS [TASKS]]`. Workers are Dask's own, which
connect to the scheduler, take tasks from it and tell it that they live as on machines of theirs;
only what they do to look at themselves (50 times a second each) is left out, which would take more
cores than there are. What is measured is the time that scheduler, workers and client need together,
on one core, to hand tasks out and their answers back: a cluster's scheduler has the core for
itself.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import time
from typing import Any

WORKERS, TASKS = 1_000, 10_000


async def measure(workers: int, tasks: int) -> dict[str, float]:
    """Start so many workers, and let them do so many empty tasks."""
    import dask
    import distributed as library

    distributed: Any = library
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    quiet = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.admin.system-monitor.interval": "1h",
        "distributed.admin.tick.interval": "1h",
        "distributed.admin.tick.cycle": "1h",
        "distributed.worker.memory.terminate": False,
    }
    with dask.config.set(quiet):
        scheduler = distributed.Scheduler(
            dashboard_address="127.0.0.1:0", dashboard=False, protocol="inproc://"
        )
        async with scheduler:
            begin = time.perf_counter()
            crew = [
                distributed.Worker(scheduler.address, nthreads=1, dashboard=False, memory_limit=0)
                for _ in range(workers)
            ]
            await asyncio.gather(*crew)
            ready = time.perf_counter()
            gc.freeze()  # workers would not be in the scheduler's memory
            async with distributed.Client(scheduler.address, asynchronous=True) as client:
                await _do(client, workers)  # warm-up
                start, used = time.perf_counter(), time.process_time()
                await _do(client, tasks, 2 * workers)
                end, used = time.perf_counter(), time.process_time() - used
            await asyncio.gather(*(one.close(timeout=1, nanny=False) for one in crew))
    return {
        "workers": workers,
        "tasks": tasks,
        "seconds to start": ready - begin,
        "tasks a second": tasks / (end - start),
        "CPU a task (ms)": 1e3 * used / tasks,
    }


async def _do(client: Any, tasks: int, most: int | None = None) -> None:
    """Hand tasks out, so many at a time, as `solve_parts` does."""
    import distributed

    first = min(tasks, most or tasks)
    library: Any = distributed
    pending = library.as_completed([client.submit(int, pure=False) for _ in range(first)])
    given = first
    async for _ in pending:
        if given < tasks:
            pending.add(client.submit(int, pure=False))
            given += 1


def main(words: list[str]) -> None:
    """Measure, and print a line of CSV below its head."""
    workers, tasks, *_ = [*map(int, words), *(WORKERS, TASKS)[len(words) :]]
    row = asyncio.run(measure(workers, tasks))
    print(",".join(row))
    print(",".join(f"{value:.4g}" for value in row.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
