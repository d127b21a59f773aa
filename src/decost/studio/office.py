"""Jobs from the request to the answer: kept in the store, done by the pools, told to who asks."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from decost.studio.line import Job
from decost.studio.pool import Pool
from decost.studio.settings import Settings
from decost.studio.store import Row, Store, StoreError

LOGGER = logging.getLogger("decost")

SAVE = 2.0
"""Seconds between two looks for better plans to keep."""

CLEAR = 3600.0
"""Seconds between two looks for old plans."""

AGAIN, TRIES = 2.0, 150
"""Seconds between two tries to keep what a worker has done, and how many there are."""

PLANS = ("solve", "replan")
"""Kinds of jobs whose answers are plans, which are kept; others are answered at once."""

Answer = TypeVar("Answer")


class BusyError(Exception):
    """There are too many jobs already."""


class Office:
    """All that the service knows of jobs.

    Parameters
    ----------
    settings
        How it runs.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = Store(settings.data)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._jobs: dict[str, Job] = {}
        self._plans = Pool(settings.workers, settings.memory)
        self._desk = Pool(1, settings.memory)
        self._chores: list[asyncio.Task[None]] = []
        self._closing = False

    async def start(self) -> None:
        """Go on with what was not finished, and begin to work."""
        for row in await self._kept(self._store.unfinished):
            job = Job(row.id, row.client, row.kind, stopped=row.stopped)
            self._jobs[job.id] = job
            self._plans.line.put(job)
        self._plans.start(self)
        self._desk.start(self)
        self._chores = [asyncio.create_task(self._save()), asyncio.create_task(self._clear())]

    async def close(self) -> None:
        """End at once; plans that are being made will be made after a restart."""
        self._closing = True
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(self._plans.close(), self._desk.close())
        for job in self._jobs.values():
            job.gone = True
            job.wake()
        self._thread.shutdown()
        self._store.close()

    async def _kept(self, function: Callable[..., Answer], *given: Any) -> Answer:
        """Ask the store, in the one thread that does so."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *given)

    async def _kept_surely(self, function: Callable[..., Answer], *given: Any) -> Answer:
        """Ask the store again and again, while there may be no room on the disk."""
        for _ in range(TRIES):
            try:
                return await self._kept(function, *given)
            except StoreError as error:
                LOGGER.error("%s; tried again in %g s", error, AGAIN)
                await asyncio.sleep(AGAIN)
        return await self._kept(function, *given)

    async def _save(self) -> None:
        saved: dict[str, object] = {}
        while True:
            await asyncio.sleep(SAVE)
            for job in self._plans.at_work:
                routes = job.news.get("routes")
                if routes is not None and routes is not saved.get(job.id) and not job.over:
                    saved[job.id] = routes
                    with _logged():
                        await self._kept(self._store.keep_best, job.id, {"routes": routes})
            saved = {plan: routes for plan, routes in saved.items() if plan in self._jobs}

    async def _clear(self) -> None:
        while True:
            with _logged():
                await self._kept(self._store.clear, self._settings.days, self._settings.gigabytes)
            await asyncio.sleep(CLEAR)

    async def begin(self, job: Job) -> bool:
        """Get the request of a job; say whether it is still wanted."""
        if job.kind not in PLANS:
            return not job.gone
        job.request = await self._kept_surely(self._store.request, job.id)
        if job.request is None or job.gone:
            return False
        await self._kept_surely(self._store.start, job.id)
        return True

    async def end(self, job: Job, message: dict[str, Any]) -> None:
        """Keep what came out of a job, and tell who waits for it."""
        failed = message["event"] == "failed"
        answer = {"error": message["error"]} if failed else message["answer"]
        job.request = None
        if job.kind in PLANS:
            state = "failed" if failed else "done"
            await self._kept_surely(self._store.end, job.id, state, answer)
            self._jobs.pop(job.id, None)
        job.news = {"status": "failed" if failed else "done", "answer": answer}
        job.wake()

    async def add(self, client: str, kind: str, name: str, request: dict[str, Any]) -> str:
        """Take a job for a plan; when this returns, it is kept.

        Raises
        ------
        BusyError
            If too many jobs wait already.
        """
        line = self._plans.line
        if len(line) >= self._settings.queue or line.of_client(client) >= self._settings.own_queue:
            raise BusyError
        plan = secrets.token_hex(16)
        await self._kept(self._store.add, plan, client, kind, name, request)
        job = Job(plan, client, kind)
        self._jobs[plan] = job
        line.put(job)
        return plan

    async def ask(self, client: str, kind: str, request: dict[str, Any]) -> dict[str, Any]:
        """Let something be done whose answer is not kept; give it, or its `error`."""
        line = self._desk.line
        if len(line) >= self._settings.queue or line.of_client(client) >= self._settings.own_queue:
            raise BusyError
        job = Job(secrets.token_hex(16), client, kind, request)
        line.put(job)
        try:
            async for news in self._changes(job):
                if "answer" in news:
                    answer: dict[str, Any] = news["answer"]
                    return answer
                if "error" in news:
                    return {"error": news["error"]}
        finally:
            if not job.over:  # nobody waits any more
                await self._desk.cancel(job)
        return {"error": "the service is ending"}

    async def _changes(self, job: Job) -> AsyncIterator[dict[str, Any]]:
        """Give what is known of a job whenever that changes, until it is over."""
        watcher = asyncio.Event()
        job.watchers.add(watcher)
        try:
            while True:
                watcher.clear()
                yield job.news
                if job.over:
                    return
                await watcher.wait()
        finally:
            job.watchers.discard(watcher)

    async def look(self, plan: str) -> dict[str, Any] | None:
        """Say how far a plan is; None if there is none."""
        job = self._jobs.get(plan)
        if job is not None:
            return self._told(job)
        row = await self._kept(self._store.find, plan)
        return None if row is None else _ended(row)

    def _told(self, job: Job) -> dict[str, Any]:
        if job.news["status"] != "queued":
            return job.news
        line = self._plans.line
        return {"status": "queued", "ahead": line.ahead(job), "queue": len(line)}

    async def watch(self, plan: str) -> AsyncIterator[dict[str, Any]]:
        """Give what `look` gives, now and whenever it changes, until the end."""
        job = self._jobs.get(plan)
        if job is not None:
            last = None
            async for _ in self._changes(job):
                told = self._told(job)
                if told != last and not job.over:
                    last = told
                    yield told
        if self._closing:
            return
        row = await self._kept(self._store.find, plan)
        if row is None:
            yield {"status": "gone"}
        elif row.state in ("done", "failed"):
            yield _ended(row)
        elif job is not None:  # its end could not be kept
            yield self._told(job)

    async def of_client(self, client: str, most: int = 50) -> list[Row]:
        """List the latest plans of a client."""
        return await self._kept(self._store.of_client, client, most)

    async def instance(self, plan: str) -> dict[str, Any] | None:
        """Give the instance of a plan, with what is new after replanning."""
        row = await self._kept(self._store.find, plan)
        if row is not None and row.answer is not None and "instance" in row.answer:
            found: dict[str, Any] = row.answer["instance"]
            return found
        request = await self._kept(self._store.request, plan)
        return None if request is None else request["instance"]

    async def stop(self, plan: str) -> bool:
        """Let a plan end early, with what it has; say whether there is such a plan."""
        job = self._jobs.get(plan)
        if job is None:
            return await self._kept(self._store.find, plan) is not None
        await self._kept(self._store.stop, plan)
        await self._plans.stop(job)
        return True

    async def delete(self, plan: str) -> bool:
        """Forget a plan, and end its job; say whether there was one."""
        job = self._jobs.pop(plan, None)
        if job is not None:
            await self._plans.cancel(job)
        return await self._kept(self._store.delete, plan)

    @property
    def queue(self) -> dict[str, int]:
        """How many plans wait, and how many are being made."""
        return {"queued": len(self._plans.line), "running": len(self._plans.at_work)}


@contextmanager
def _logged() -> Iterator[None]:
    """Go on if the store cannot be used now."""
    try:
        yield
    except StoreError as error:
        LOGGER.error("%s", error)


def _ended(row: Row) -> dict[str, Any]:
    answer = row.answer or {}
    if row.state == "done":
        result: dict[str, Any] = answer["result"]
        return result
    return {"status": "failed" if row.state == "failed" else row.state} | answer
