"""The line that jobs wait in: who has fewest at work is next, and who was served longest ago."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Job:
    """A task of a client, on its way.

    `news` is what was heard of it last; whoever waits for more has an event in `watchers`.
    """

    id: str
    client: str
    kind: str
    request: dict[str, Any] | None = None
    stopped: bool = False
    gone: bool = False
    news: dict[str, Any] = field(default_factory=lambda: {"status": "queued"})
    watchers: set[asyncio.Event] = field(default_factory=set)

    @property
    def over(self) -> bool:
        """Whether nothing more will be heard of it."""
        return self.gone or self.news["status"] not in ("queued", "running")

    def tell(self, **news: Any) -> None:
        """Change what is known of it."""
        self.news = self.news | news
        self.wake()

    def wake(self) -> None:
        """Let everybody look."""
        for watcher in self.watchers:
            watcher.set()


class Line:
    """Jobs that wait, fair between clients."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Job]] = {}
        self._at_work: Counter[str] = Counter()
        self._turns: dict[str, int] = {}
        self._turn = 0
        self._more = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def of_client(self, client: str) -> int:
        """Count the jobs of a client that wait."""
        return len(self._waiting.get(client, ()))

    def put(self, job: Job) -> None:
        """Let a job wait."""
        self._waiting.setdefault(job.client, deque()).append(job)
        self._more.set()

    async def take(self) -> Job:
        """Wait for the next job."""
        while not self._waiting:
            self._more.clear()
            await self._more.wait()
        client = min(self._waiting, key=lambda one: (self._at_work[one], self._turns.get(one, -1)))
        job = self._waiting[client].popleft()
        self._forget_if_empty(client)
        self._turn += 1
        self._turns[client] = self._turn
        self._at_work[client] += 1
        for others in self._waiting.values():
            for other in others:
                other.wake()
        return job

    def done(self, job: Job) -> None:
        """Note that a job that was taken has ended."""
        self._at_work[job.client] -= 1
        if not self._at_work[job.client]:
            del self._at_work[job.client]
            if job.client not in self._waiting:
                del self._turns[job.client]

    def remove(self, job: Job) -> bool:
        """Take a job out; say whether it was waiting."""
        waiting = self._waiting.get(job.client, deque())
        if job not in waiting:
            return False
        waiting.remove(job)
        self._forget_if_empty(job.client)
        return True

    def ahead(self, job: Job) -> int:
        """Count the jobs that would come before this one if no others came."""
        mine = self._waiting.get(job.client, deque())
        rank = mine.index(job) if job in mine else 0
        others = (len(jobs) for client, jobs in self._waiting.items() if client != job.client)
        return rank + sum(min(count, rank + 1) for count in others)

    def _forget_if_empty(self, client: str) -> None:
        if not self._waiting[client]:
            del self._waiting[client]
