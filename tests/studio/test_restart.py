"""Tests of what a restart leaves: every accepted plan ends, every finished one is there."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from running import Service

import decost
from decost.files.instances import instance_dict, instance_of
from decost.files.plans import solution_of
from decost.studio.store import Store


def test_kill_and_restart(tmp_path: Path, city: dict[str, Any]) -> None:
    """The service is killed at random moments: no plan is lost, none is wrong."""
    moments = int(os.environ.get("DECOST_KILLS", "1"))
    random_ = random.Random(4)
    (long,) = decost.generate("people", nodes=40, seed=3, vehicles=2)
    expected = decost.solve(instance_of("", city)).profit
    accepted: dict[str, bool] = {}
    finished: dict[str, dict[str, Any]] = {}
    for _ in range(moments):
        service = Service(tmp_path, "--workers", "2")
        end = time.monotonic() + random_.uniform(0.2, 2)
        try:
            while time.monotonic() < end:
                short = random_.random() < 0.7
                data = city if short else instance_dict(long)
                accepted[service.plan(data, time_limit=1)] = short
                for plan in list(accepted):
                    told = service.client.get(f"/plans/{plan}").json()
                    if told["status"] in ("optimal", "feasible"):
                        finished[plan] = told
                time.sleep(random_.uniform(0.1, 0.5))
        except httpx.HTTPError as error:
            raise AssertionError(error) from None
        finally:
            service.kill()
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
