"""A worker: a process of its own that does one task after another.

`python -m decost.studio.worker MEMORY` reads a JSON line a task on its standard input, and
answers with lines on its standard output. It ends with whoever started it.
"""

from __future__ import annotations

import _thread
import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from decost.compiling import clock, listening

BEAT = 0.5
"""Seconds between two signs of life."""

_WORDS = "something went wrong while this was planned"


class Worker:
    """The state that the threads of a worker share."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # what a library prints is no answer
        self._lock = threading.Lock()
        self._tasks: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._busy = self._stopped = False
        self._since = 0.0

    def send(self, **message: Any) -> None:
        """Answer with a line."""
        with self._lock:
            self._lines.write(json.dumps(message, allow_nan=False) + "\n")
            self._lines.flush()

    def listen(self) -> None:
        """Take tasks, and the wish to end one early."""
        for line in sys.stdin:
            message = json.loads(line)
            self._stopped = "stop" in message
            if self._stopped:
                _thread.interrupt_main()
            else:
                self._tasks.put(message)
        os._exit(0)

    def beat(self) -> None:
        """Say now and then how long a task takes, by the clock that waits for compiling."""
        while True:
            time.sleep(BEAT)
            if self._busy:
                self.send(event="beat", seconds=clock() - self._since)

    def interrupt(self, number: int, frame: object) -> None:
        """End a task early, if there is one."""
        if self._busy:
            raise KeyboardInterrupt

    def work(self) -> None:
        """Do tasks until there is no room for more."""
        while True:
            task = self._tasks.get()
            self._since = clock()
            try:
                answer = self._done(task)
            except MemoryError:
                answer = {"event": "failed", "error": "not enough memory for this"}
            except ValueError as error:
                answer = {"event": "failed", "error": _own_words(error)}
            except Exception:
                import traceback

                traceback.print_exc()
                answer = {"event": "failed", "error": _WORDS}
            last = _used() > self._memory / 2  # the next one gets a fresh process
            self.send(**answer, last=last)
            if last:
                return

    def _done(self, task: dict[str, Any]) -> dict[str, Any]:
        from decost.studio.tasks import run_task

        def tell(message: dict[str, Any]) -> None:
            self.send(event="progress", **message)

        wanted = task["request"]
        for request in (wanted, _at_once(wanted)):
            try:
                self._busy = True
                if self._stopped and request is wanted:
                    continue
                answer = run_task(task["kind"], request, tell)
                self._busy = False
                return {"event": "done", "answer": answer}
            except KeyboardInterrupt:  # before there was a plan
                continue
            finally:
                self._busy = False
        return {"event": "failed", "error": "it was stopped before there was a plan"}


def _at_once(request: dict[str, Any]) -> dict[str, Any]:
    """Ask for what can be had in no time."""
    if "options" in request:
        return request | {"options": request["options"] | {"time_limit": 0.0}}
    return request | {"time_limit": 0.0}


def _own_words(error: ValueError) -> str:
    """Pass on complaints of ours; others may tell of the insides."""
    if type(error).__module__.startswith("decost."):
        return str(error)[:1000]
    return _WORDS


def _limit(memory: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _used() -> int:
    """Give the most bytes that this process has had, 0 where nobody says so."""
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _rehearse() -> None:
    """Load what most tasks need, so that the first one need not wait for it."""
    import decost

    (example,) = decost.generate("people", nodes=6, seed=1, vehicles=2)
    decost.solve(example, time_limit=0.05)


def main() -> None:
    """Work until nobody listens any more."""
    memory = int(sys.argv[1])
    _limit(memory)
    worker = Worker(memory)
    signal.signal(signal.SIGINT, worker.interrupt)
    threading.Thread(target=worker.listen, daemon=True).start()
    threading.Thread(target=worker.beat, daemon=True).start()

    def compiling(done: int, total: int, name: str) -> None:
        worker.send(event="compiling", done=done, total=total)

    with listening(compiling):
        _rehearse()
        worker.send(event="ready")
        worker.work()


if __name__ == "__main__":
    main()
