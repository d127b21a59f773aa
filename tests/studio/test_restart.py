"""Tests of what is kept: accepted plans end, finished ones are there, also if the disk is full."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from running import Service, running

import decost
from command_line import Call
from decost.files.instances import instance_dict, instance_of
from decost.files.plans import solution_of
from decost.studio.store import Store, StoreError


def test_kill_and_restart(tmp_path: Path, city: dict[str, Any]) -> None:
    """The service is killed at random moments: no plan is lost, none is wrong."""
    moments = int(os.environ.get("DECOST_KILLS", "1"))
    random_ = random.Random(4)
    (long,) = decost.generate("people", nodes=40, seed=3, vehicles=2)
    expected = decost.solve(instance_of("", city)).profit
    accepted: dict[str, bool] = {}
    finished: dict[str, dict[str, Any]] = {}
    for moment in range(moments):
        service = Service(tmp_path, "--workers", "2")
        before = len(finished)
        wanted = before + (1, 0, 2, 4)[moment % 4]  # ends to be seen in this life, at least
        end = time.monotonic() + random_.uniform(0.05, 1)
        try:
            while time.monotonic() < end or len(finished) < wanted:
                waiting = accepted.keys() - finished.keys()
                if len(waiting) < 6:
                    short = random_.random() < 0.7
                    data = city if short else instance_dict(long)
                    accepted[service.plan(data, time_limit=1)] = short
                for plan in waiting:
                    told = service.client.get(f"/plans/{plan}").json()
                    if told["status"] in ("optimal", "feasible", "incomplete"):
                        finished[plan] = told
                time.sleep(random_.uniform(0, 0.1))
        finally:
            service.kill()
    assert finished
    service = Service(tmp_path, "--workers", "2")
    try:
        for plan, short in accepted.items():
            told = service.result(plan, 300)
            assert told["status"] in ("optimal", "feasible", "incomplete"), told
            if short:
                assert told["profit"] == pytest.approx(expected)
            else:
                faults = decost.check(long, solution_of("", told, long))
                assert all(one.rule == "required" for one in faults)
            if plan in finished:
                assert told == finished[plan]
        assert accepted
    finally:
        complaints = service.end()
    assert not complaints
    print(f"killed {moments} times, {len(accepted)} plans, {len(finished)} finished before")


def test_a_restart_goes_on_from_the_best(tmp_path: Path) -> None:
    """What was found before a restart is where the plan goes on; the store gives it back."""
    store = Store(tmp_path)
    store.add("a" * 32, "me", "solve", "name", {"instance": {}})
    store.start("a" * 32)
    store.keep_best("a" * 32, {"routes": [[]]})
    store.close()
    again = Store(tmp_path)
    (row,) = again.unfinished()
    assert (row.id, row.state) == ("a" * 32, "running")
    assert again.request(row.id) == {"instance": {}, "best": {"routes": [[]]}}
    again.end(row.id, "done", {"result": {"profit": 1}})
    assert again.unfinished() == []
    assert again.find(row.id).answer == {"result": {"profit": 1}}
    again.close()


def test_old_plans_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans go after their days, the oldest first if there is no room; unfinished ones never."""
    store = Store(tmp_path)
    now = time.time()
    for number in range(6):
        monkeypatch.setattr(time, "time", lambda age=number: now - 10 * 86400 * (5 - age))
        plan = f"{number:032x}"
        store.add(plan, "me", "solve", "", {"instance": {"noise": random.Random(number).random()}})
        if number:
            store.end(plan, "done", {"result": {}})
    monkeypatch.setattr(time, "time", lambda: now)
    assert store.clear(days=25, gigabytes=1) == 2
    left = [row.id[-1] for row in store.of_client("me", 10)]
    assert left == ["5", "4", "3", "0"]
    assert store.clear(days=25, gigabytes=0) == 3
    assert [row.id[-1] for row in store.of_client("me", 10)] == ["0"]
    store.close()


def test_one_service_a_folder(tmp_path: Path) -> None:
    """A second service on the same folder would do the same jobs, so that it does not start."""
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="in use by another studio"):
        Store(tmp_path)
    store.close()
    Store(tmp_path).close()


def test_plans_are_their_owners(tmp_path: Path) -> None:
    """Nobody else who uses the computer can read plans, even in a folder that all may look into."""
    tmp_path.chmod(0o755)
    store = Store(tmp_path)
    store.add("0" * 32, "me", "solve", "trip", {})
    kept = list(tmp_path.glob("plans.sqlite*"))
    assert len(kept) == 3  # with what is not yet in the file itself
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
    store.close()


@pytest.mark.parametrize(
    ("content", "words"), [(b"no database" * 500, "not a database"), (None, "is of version 7")]
)
def test_files_that_are_none(tmp_path: Path, call: Call, content: bytes | None, words: str) -> None:
    """A broken file, or one of another version, is said in a line and left as it is."""
    path = tmp_path / "plans.sqlite"
    if content is None:
        base = sqlite3.connect(path)
        base.execute("PRAGMA user_version=7")
        base.close()
        content = path.read_bytes()
    else:
        path.write_bytes(content)
    said = call.complaint("studio", "--no-browser", "--port", "0", "--data", tmp_path)
    assert words in said
    assert path.read_bytes() == content


def test_a_store_without_room(tmp_path: Path) -> None:
    """What does not fit is refused, or what somebody holds; then the store works as before."""
    store = Store(tmp_path)
    base = store._base
    pages = base.execute("PRAGMA page_count").fetchone()[0]
    base.execute(f"PRAGMA max_page_count={pages + 5}")
    noise = random.Random(1).randbytes(200_000).hex()
    for _ in range(3):
        with pytest.raises(StoreError, match="full"):
            store.add("a" * 32, "me", "solve", "", {"noise": noise})
    base.execute("PRAGMA max_page_count=1000000")
    store.add("a" * 32, "me", "solve", "", {"noise": noise})
    base.execute("PRAGMA busy_timeout=50")
    other = sqlite3.connect(tmp_path / "plans.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        store.start("a" * 32)
    other.execute("ROLLBACK")
    other.close()
    store.start("a" * 32)
    assert [row.state for row in store.unfinished()] == ["running"]
    store.close()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are Linux's")
def test_full_disk(tmp_path: Path, city: dict[str, Any]) -> None:
    """While the disk is full, plans are refused and finished ones wait; then they are kept."""
    with running(tmp_path, "--workers", "1") as service:
        expected = service.result(service.plan(city))["profit"]
        waiting = service.plan(city | {"name": "x" * 150}, method="search", time_limit=0.5)
        while service.client.get(f"/plans/{waiting}").json()["status"] == "queued":
            time.sleep(0.02)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (4096, -1))
        answer = service.post("/plans", {"instance": city})
        assert answer.status_code == 503
        assert "cannot be read or kept" in answer.json()["error"]
        assert service.post("/stays", {"instance": city, "orders": [[]]}).status_code == 200
        time.sleep(1.5)
        assert service.client.get(f"/plans/{waiting}").json()["status"] == "running"
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        assert service.result(waiting)["profit"] == pytest.approx(expected)
        assert service.result(service.plan(city))["profit"] == pytest.approx(expected)
