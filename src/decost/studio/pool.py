"""Workers and the jobs that they do: a bounded number at a time, each with its limits."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from contextlib import suppress
from typing import Any, Protocol

from decost.studio.line import Job, Line

LOGGER = logging.getLogger("decost")

GRACE = 30.0
"""Seconds that a task may take beyond its time limit."""

SILENCE = 120.0
"""Seconds without a sign of life after which a worker is taken for dead."""

MOST_LINE = 2**27
"""Bytes of an answer."""


class Process:
    """A worker process, from outside."""

    def __init__(self, memory: float) -> None:
        self._memory = int(memory * 2**30)
        self._process: asyncio.subprocess.Process | None = None
        self._began = False

    async def do(self, job: Job, limit: float) -> dict[str, Any]:
        """Let it do a job; give its last message, or what has become of it."""
        message = await self._try(job, limit)
        if message is _DEAD and not self._began and not job.gone:  # it has died before the job
            message = await self._try(job, limit)
        return message

    async def _try(self, job: Job, limit: float) -> dict[str, Any]:
        self._began = False
        try:
            await self._send({"kind": job.kind, "request": job.request})
            if job.gone:  # since the process was started
                return await self._death()
            if job.stopped:
                await self.stop()
            return await self._answer(job, limit + GRACE)
        except (BrokenPipeError, ConnectionError):
            return await self._death()

    async def prepare(self) -> None:
        """Start the process, so that the first job need not wait for that."""
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "decost.studio.worker", str(self._memory)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=MOST_LINE,
                start_new_session=True,  # Ctrl-C is for the service
            )

    async def _send(self, message: dict[str, Any]) -> None:
        await self.prepare()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def _answer(self, job: Job, limit: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        while True:
            try:
                line = await asyncio.wait_for(self._process.stdout.readline(), SILENCE)
            except TimeoutError:
                await self.kill()
                return _failed("the worker has fallen silent")
            except ValueError:  # a line without end
                await self.kill()
                return _failed("the answer is too large")
            if not line:
                return await self._death()
            message: dict[str, Any] = json.loads(line)
            event = message.pop("event")
            self._began |= event not in ("ready", "compiling")
            if event in ("done", "failed"):
                if message.pop("last"):  # it ends by itself, and must get no other job meanwhile
                    await self.kill()
                return {"event": event} | message
            if event == "progress":
                job.tell(**message)
            elif event == "compiling":
                job.tell(compiling=None if message["done"] >= message["total"] else message)
            elif event == "beat" and message["seconds"] > limit:
                await self.kill()
                return _failed("it took longer than it may")

    async def _death(self) -> dict[str, Any]:
        await self.kill()
        return _DEAD

    async def stop(self) -> None:
        """Let it end what it is doing, with the plan that it has."""
        if self._process is not None and self._process.returncode is None:
            with suppress(BrokenPipeError, ConnectionError):
                await self._send({"stop": True})

    async def kill(self) -> None:
        """End it at once."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _failed(error: str) -> dict[str, Any]:
    return {"event": "failed", "error": error}


_DEAD = _failed("the worker has died, perhaps of too little memory")


class Office(Protocol):
    """Who knows what jobs are about."""

    async def begin(self, job: Job) -> bool:
        """Get the request of a job; say whether it is still wanted."""

    async def end(self, job: Job, message: dict[str, Any]) -> None:
        """Keep what came out."""


class Pool:
    """Some workers at one line of jobs.

    Parameters
    ----------
    workers
        How many.
    memory
        Gigabytes of each.
    """

    def __init__(self, workers: int, memory: float) -> None:
        self.line = Line()
        self._processes = [Process(memory) for _ in range(workers)]
        self._at_work: dict[Job, Process] = {}
        self._runners: list[asyncio.Task[None]] = []

    @property
    def at_work(self) -> list[Job]:
        """The jobs that are being done."""
        return list(self._at_work)

    def start(self, office: Office) -> None:
        """Begin to work."""
        self._runners = [
            asyncio.create_task(self._run(process, office)) for process in self._processes
        ]

    async def close(self) -> None:
        """End all work at once; what was being done is to be done again."""
        for runner in self._runners:
            runner.cancel()
        await asyncio.gather(*self._runners, return_exceptions=True)
        for process in self._processes:
            await process.kill()

    async def _run(self, process: Process, office: Office) -> None:
        while True:
            try:
                await process.prepare()
            except OSError:  # there may be too many processes; the job tries again
                LOGGER.exception("no worker could be started")
            job = await self.line.take()
            self._at_work[job] = process
            try:
                await self._do(job, process, office)
            except Exception:
                LOGGER.exception("a job could not be done")
                await self._give_up(job, office)
            finally:
                del self._at_work[job]
                self.line.done(job)

    async def _do(self, job: Job, process: Process, office: Office) -> None:
        if not await office.begin(job):
            return
        assert job.request is not None
        limit = job.request.get("options", job.request).get("time_limit", 60.0)
        job.tell(status="running")
        message = await process.do(job, limit)
        if not job.gone:
            await office.end(job, message)

    async def _give_up(self, job: Job, office: Office) -> None:
        words = "something went wrong here"
        try:
            await office.end(job, _failed(words))
        except Exception:  # whoever waits is told all the same
            LOGGER.exception("a job could not be ended")
            job.tell(status="failed", error=words)

    async def stop(self, job: Job) -> None:
        """End a job early."""
        job.stopped = True
        if job in self._at_work and not job.over:
            await self._at_work[job].stop()

    async def cancel(self, job: Job) -> None:
        """Let nothing more be done for a job."""
        job.gone = True
        job.wake()
        if not self.line.remove(job) and job in self._at_work:
            await self._at_work[job].kill()
