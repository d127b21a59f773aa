"""Tests of the service: the same answers as the command line, and jobs from request to plan."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from running import Service, running

import decost
from command_line import Call
from conftest import EXAMPLES
from decost.files.instances import instance_dict, instance_of
from decost.files.plans import solution_of
from decost.studio.line import Job
from decost.studio.pool import GRACE, Process


def many(vehicles: int = 3, nodes: int = 80) -> dict[str, Any]:
    """Give a problem that nobody proves in a minute."""
    (one,) = decost.generate("people", nodes=nodes, seed=5, vehicles=vehicles)
    return instance_dict(one)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two results are equal but for their times."""
    return one | {"runtime": 0} == other | {"runtime": 0}


def test_plan_is_the_command_lines(service: Service, call: Call, city: dict[str, Any]) -> None:
    """`GET /plans/{id}` answers what `decost solve --json` prints; events end with the same."""
    printed = json.loads(call("solve", EXAMPLES / "city.json", "--json").out)
    plan = service.plan(city)
    (*_, (event, told)) = service.events(plan)
    assert event == "done"
    assert same(told, printed)
    assert service.result(plan) == told
    assert service.client.get(f"/plans/{plan}/instance").json()["stops"] == city["stops"]
    checked = service.post("/check", {"instance": city, "plan": told}).json()
    assert checked["feasible"]
    assert checked["profit"] == pytest.approx(printed["profit"])
    assert service.client.delete(f"/plans/{plan}").status_code == 204
    assert service.client.get(f"/plans/{plan}").status_code == 404


def test_stays_are_the_command_lines(service: Service, call: Call, guides: dict[str, Any]) -> None:
    """`POST /stays` answers what `decost stays --json` prints, also of an order that breaks."""
    path = str(EXAMPLES / "guides.json")
    for order in (["market", "cathedral", "lunch"], ["lunch", "market"]):
        words = ("--order", f"red:{','.join(order)}", "--json")
        printed = json.loads(call("stays", path, *words).out)
        told = service.post("/stays", {"instance": guides, "orders": {"red": order}}).json()
        assert same(told, printed)


def test_explains_and_checks(service: Service, city: dict[str, Any]) -> None:
    """`/explain` says what visits cost, as `--explain` does; `/check` names what is broken."""
    instance = instance_of("city", city)
    result = decost.solve(instance)
    told = service.post("/explain", {"instance": city, "plan": result.to_dict()}).json()
    expected = {one["stop"]: one for one in result.explain().to_dict()["left_out"]}
    assert {one["stop"] for one in told["left_out"]} == set(expected)
    for one in told["left_out"]:
        if one["proven"] and expected[one["stop"]]["proven"]:
            assert one == expected[one["stop"]]
    late = result.to_dict()
    late["routes"][0][0]["start"] += 1000
    checked = service.post("/check", {"instance": city, "plan": late}).json()
    expected_faults = [str(one) for one in decost.check(instance, solution_of("", late, instance))]
    assert checked["violations"] == expected_faults != []


def test_replans(service: Service, guides: dict[str, Any]) -> None:
    """`/replan` keeps what has begun, as `decost.replan` does."""
    instance = instance_of("guides", guides)
    result = decost.solve(instance, "search", iterations=200)
    asked = {
        "instance": guides,
        "plan": result.to_dict(),
        "now": "12:00",
        "drop": ["wine cellar"],
        "options": {"time_limit": 2},
    }
    told = service.result(service.post("/replan", asked).json()["id"])
    expected = decost.replan(instance, result.solution, "12:00", drop=["wine cellar"], time_limit=2)
    assert told["profit"] == pytest.approx(expected.profit, rel=0.02)
    plan = solution_of("", told, instance)
    for old, new in zip(result.solution.routes, plan.routes, strict=True):
        begun = [visit.stop for visit in old.visits if visit.start <= 720]
        assert list(new.stops[: len(begun)]) == begun


def test_locked_visits_stay(service: Service, guides: dict[str, Any]) -> None:
    """Locked visits keep their vehicles; the plan is as good as one with that written down."""
    start = {"red": ["hill park"], "blue": ["market"]}
    asked = {
        "instance": guides,
        "start": start,
        "locked": ["hill park", "market"],
        "options": {"time_limit": 3},
    }
    told = service.result(service.post("/plans", asked).json()["id"])
    stops = {route["vehicle"]: [one["stop"] for one in route["visits"]] for route in told["routes"]}
    assert "hill park" in stops["red"]
    assert "market" in stops["blue"]
    only = {"hill park": "red", "market": "blue"}
    fixed = [
        one | {"vehicles": [only[one["id"]]], "required": True} if one["id"] in only else one
        for one in guides["stops"]
    ]
    expected = decost.solve(instance_of("", guides | {"stops": fixed}), time_limit=5)
    assert told["profit"] == pytest.approx(expected.profit, rel=0.01)
    unvisited = asked | {"locked": ["castle"]}
    assert service.result(service.post("/plans", unvisited).json()["id"])["status"] == "failed"


def test_stop_keeps_the_plan(service: Service) -> None:
    """A plan that is stopped ends soon, with what was found; it is heard of before."""
    data = many()
    plan = service.plan(data, time_limit=100)
    with service.client.stream("GET", f"/plans/{plan}/events") as answer:
        for line in answer.iter_lines():
            if '"routes"' in line:
                break
    assert service.client.get(f"/plans/{plan}").status_code == 202
    begin = time.monotonic()
    assert service.client.post(f"/plans/{plan}/stop").status_code == 202
    told = service.result(plan)
    assert time.monotonic() - begin < 60
    assert told["profit"] > 0
    instance = instance_of("", data)
    faults = decost.check(instance, solution_of("", told, instance))
    assert all(one.rule == "required" for one in faults)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service with one worker."""
    with running(tmp_path_factory.mktemp("single"), "--workers", "1") as service:
        yield service


def test_fair_queue(single: Service, city: dict[str, Any]) -> None:
    """With one worker, who asks for one plan does not wait for another's ten; stopped ones end."""
    busy = {"Cookie": f"decost-client={'a' * 32}"}
    other = {"Cookie": f"decost-client={'b' * 32}"}
    asked = {"instance": many(), "options": {"time_limit": 300, "method": "search"}}
    mine = [single.post("/plans", asked, **busy).json()["id"] for _ in range(4)]
    while single.client.get(f"/plans/{mine[0]}").json()["status"] == "queued":
        time.sleep(0.05)
    late = single.post("/plans", {"instance": city}, **other).json()["id"]
    told = single.client.get(f"/plans/{late}").json()
    assert told["status"] == "queued"
    assert told["ahead"] <= 1
    assert told["queue"] == single.client.get("/queue").json()["queued"] == 4
    single.client.post(f"/plans/{mine[0]}/stop")
    single.result(late)
    assert single.client.get(f"/plans/{mine[-1]}").json()["status"] == "queued"
    for plan in mine[1:]:
        single.client.post(f"/plans/{plan}/stop")
    assert single.result(mine[-1])["profit"] > 0
    listed = single.client.get("/plans", headers=other).json()
    assert [one["id"] for one in listed] == [late]


def test_dead_worker_is_a_failed_plan(single: Service, city: dict[str, Any]) -> None:
    """A worker that dies is a failed plan; the service goes on, also after one is cancelled."""
    plan = single.plan(many(), time_limit=60)
    while "profit" not in single.client.get(f"/plans/{plan}").json():
        time.sleep(0.05)
    for worker in single.workers():
        os.kill(worker, signal.SIGKILL)
    told = single.result(plan)
    assert told["status"] == "failed"
    assert "died" in told["error"]
    assert single.result(single.plan(city))["status"] == "optimal"
    gone = single.plan(many(), time_limit=60)
    assert single.client.delete(f"/plans/{gone}").status_code == 204
    assert single.result(single.plan(city))["status"] == "optimal"


def test_dead_before_the_job(city: dict[str, Any]) -> None:
    """A worker that was killed while it had nothing to do is no failed plan: another one plans."""

    async def planned() -> dict[str, Any]:
        worker = Process(16.0)  # enough not to be replaced after a job
        request = {"instance": city, "options": {"method": "greedy", "time_limit": 5.0}}
        first = await worker.do(Job("a" * 32, "me", "solve", request), 60)
        assert first["event"] == "done"
        process = worker._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)  # which is not known yet when the next job comes
        try:
            return await worker.do(Job("b" * 32, "me", "solve", request), 60)
        finally:
            await worker.kill()

    assert asyncio.run(planned())["event"] == "done"


def test_too_long_is_a_failed_plan() -> None:
    """A worker that goes on beyond its time is ended, and says so of its plan."""

    async def late() -> dict[str, Any]:
        worker = Process(3.0)
        options = {"method": "search", "time_limit": 300}
        job = Job("a" * 32, "me", "solve", {"instance": many(), "options": options})
        return await worker.do(job, 0.6 - GRACE)

    begin = time.monotonic()
    assert asyncio.run(late()) == {"event": "failed", "error": "it took longer than it may"}
    assert time.monotonic() - begin < 200


def test_too_much_memory_is_a_failed_plan(tmp_path: Path, city: dict[str, Any]) -> None:
    """A plan that needs more memory than a worker may have fails; the next one is made."""
    (large,) = decost.generate("people", nodes=5000, seed=1, vehicles=3)
    with running(tmp_path, "--workers", "1", "--memory", "0.5") as service:
        told = service.result(service.plan(instance_dict(large), time_limit=5))
        assert told["status"] == "failed"
        assert "memory" in told["error"]
        told = service.result(service.plan(city))
        assert told["status"] == "optimal", told


def test_files_are_read(service: Service) -> None:
    """Tables are read as the command line reads them; what is wrong is said without folders."""

    def packed(*names: str) -> dict[str, Any]:
        return {
            "files": [
                {"name": name, "content": base64.b64encode((EXAMPLES / name).read_bytes()).decode()}
                for name in names
            ]
        }

    told = service.post("/instances", packed("trento.csv", "trento_guides.csv")).json()
    expected = decost.read(EXAMPLES / "trento.csv", vehicles=EXAMPLES / "trento_guides.csv")
    assert instance_of("", told) == expected
    answer = service.post("/instances", packed("trento.csv"))
    alone = [f"{name}, start=Hotel Stazione, begin=09:00, due=17:00" for name in ("red", "blue")]
    expected = decost.read(EXAMPLES / "trento.csv", vehicles=alone, speed="4.5 km/h")
    assert instance_of("", answer.json()) == expected
    (note,) = json.loads(answer.headers["decost-notes"])
    assert note == (
        "trento.csv: no vehicles; assumed: red, blue; start Hotel Stazione, begin 09:00, "
        "due 17:00, speed 4.5 km/h"
    )
    bad = {
        "files": [
            {
                "name": "../../etc/places.csv",
                "content": base64.b64encode(b"name,x,y\na,b,c\n").decode(),
            }
        ]
    }
    answer = service.post("/instances", bad)
    assert answer.status_code == 422
    assert "/tmp" not in answer.text
    assert ".." not in answer.text


@pytest.fixture(scope="module")
def planned(guides: dict[str, Any]) -> dict[str, Any]:
    """Give a plan."""
    return decost.solve(instance_of("", guides), "search", iterations=50).to_dict()


@pytest.mark.parametrize(
    ("ending", "begin"),
    [
        ("json", b"{"),
        ("csv", b"vehicle"),
        ("xlsx", b"PK"),
        ("ics", b"BEGIN:VCALENDAR"),
        ("geojson", b"{"),
        ("svg", b"<?xml"),
    ],
)
def test_exports(
    service: Service, guides: dict[str, Any], planned: dict[str, Any], ending: str, begin: bytes
) -> None:
    """Exports are the files that `decost.write` writes."""
    asked = {"instance": guides, "plan": planned, "format": ending}
    answer = service.post("/exports", asked | ({"date": "2026-05-04"} if ending == "ics" else {}))
    assert answer.status_code == 200, answer.text
    assert answer.content.startswith(begin)
    if ending == "json":
        instance = instance_of("", guides)
        assert solution_of("", answer.json(), instance) == solution_of("", planned, instance)


def test_many_clients(service: Service, city: dict[str, Any]) -> None:
    """Clients at one time get the plans of their own problems: none is lost, memory is flat."""
    clients = int(os.environ.get("DECOST_CLIENTS", "8"))
    end = time.monotonic() + float(os.environ.get("DECOST_CLIENT_SECONDS", "1"))

    def one(number: int) -> int:
        data = city | {"name": f"client {number}", "budget": 200 + 5 * number}
        expected = decost.solve(instance_of("", data)).profit
        done = 0
        with service.another(Cookie=f"decost-client={number:032x}") as mine:
            while done == 0 or time.monotonic() < end:
                plan = mine.plan(data)
                assert mine.result(plan, 300)["profit"] == pytest.approx(expected)
                assert mine.client.get(f"/plans/{plan}/instance").json()["name"] == data["name"]
                orders = {"instance": data, "orders": [["cathedral"]]}
                assert mine.post("/stays", orders).status_code == 200
                done += 1
        return done

    with ThreadPoolExecutor(clients) as pool:
        waiting = [pool.submit(one, number) for number in range(clients)]
        time.sleep(max(0, end - time.monotonic()) / 2)
        half = service.megabytes()
        done = [each.result() for each in waiting]
    assert min(done) >= 1
    assert service.megabytes() < half + 64
    print(f"{clients} clients, {sum(done)} plans; {half:.0f}, {service.megabytes():.0f} MB")
