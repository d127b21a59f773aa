"""Tests that the service lets in what it should: hosts, origins, tokens, sizes, names, errors."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from running import Service, running

import decost
from command_line import Call
from decost.files.instances import instance_dict, instance_of
from decost.studio import desk, guard, serving
from decost.studio.guard import Guard, cookies_of
from decost.studio.service import MOST_LISTENING
from decost.studio.settings import Settings, SettingsError


def raw(service: Service, text: bytes) -> bytes:
    """Send bytes as they are, and give the answer's first line."""
    host, _, port = service.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), 10) as line:
        line.sendall(text)
        return line.recv(1000).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.nip.example", ""],
)
def test_foreign_hosts_are_refused(service: Service, host: str) -> None:
    """A page that has turned its own name into our address (DNS rebinding) gets nothing."""
    for path in ("/", "/web/studio.js", "/plans", "/health"):
        assert b" 421 " in raw(service, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://localhost:1", "http://"]
)
def test_foreign_origins_are_refused(service: Service, city: dict[str, Any], origin: str) -> None:
    """Other pages cannot ask for anything, and no answer allows them to read it."""
    answer = service.post("/plans", {"instance": city}, Origin=origin)
    assert answer.status_code == 403
    answer = service.client.options(
        "/plans", headers={"Origin": origin, "Access-Control-Request-Method": "POST"}
    )
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]
    sent = service.client.get("/plans", headers={"Sec-Fetch-Site": "cross-site"})
    assert sent.status_code == 403
    own = service.post("/stays", {"instance": city, "orders": [[]]}, Origin=service.address)
    assert own.status_code == 200


def test_cookies_are_read_at_once() -> None:
    """Thousands of backslashes in a cookie, slow to read by the rules, hold nobody up."""
    cookie = 'a="' + "\\" * 60_000 + '"; decost-client=me'
    before = time.process_time()
    assert cookies_of(cookie)["decost-client"] == "me"
    assert time.process_time() - before < 0.2  # by the rules 4


def test_forms_are_refused(service: Service) -> None:
    """What a form of another page could send is no JSON, and refused."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = service.client.post("/plans", content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 415


def test_headers(service: Service) -> None:
    """Every answer forbids scripts, frames and addresses that are not ours."""
    for path in ("/", "/web/studio.js", "/health", "/nothing", "/openapi.json"):
        headers = service.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers
    cookie = service.client.get("/").headers.get("set-cookie", "HttpOnly SameSite=strict")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_sizes_are_limited(service: Service) -> None:
    """What is too large is refused, whether it says so or not."""
    head = b"POST /plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 413 " in raw(service, head + b"Content-Length: 99999999999\r\n\r\n")
    chunks = (b"[" * 2**20 for _ in range(40))
    answer = service.client.post(
        "/plans", content=chunks, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413
    deep = b'{"instance": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    answer = service.client.post(
        "/plans", content=deep, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422


def test_half_requests_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends half a head, or a byte of a body now and then, is not waited for without end."""
    monkeypatch.setattr(serving, "PATIENCE", 0.5)
    monkeypatch.setattr(guard, "PATIENCE", 0.5)
    monkeypatch.setattr(guard, "MOST_PATIENCE", 1.5)

    async def reading(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = FastAPI()
    app.mount("/", reading)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(Guard(app, Settings()), http=serving._Protocol, log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            head = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
            json_ = head + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
            whole = head + b"Content-Length: 0\r\n\r\n"
            for begin, every, code in (
                (b"", 0, b""),
                (head, 0, b""),
                (head + b"X: ", 0.1, b""),
                (whole + head, 0.1, b"204"),
                (json_, 9, b"408"),
                (json_, 0.1, b"408"),
            ):
                with socket.create_connection(listener.getsockname(), 10) as line:
                    line.sendall(begin)
                    line.settimeout(every or 10)
                    since, answer = time.monotonic(), b""
                    with suppress(ConnectionError):
                        while time.monotonic() < since + 8:
                            try:
                                got = line.recv(1000)
                            except TimeoutError:
                                line.sendall(b"x")
                                continue
                            if not got:
                                break
                            answer += got
                    assert time.monotonic() - since < 7, begin
                    assert code in answer.partition(b"\r\n")[0]
        finally:
            server.should_exit = True
            thread.join()


def test_listening_is_bounded(service: Service) -> None:
    """A client listens on so many connections at a time; others, and later ones, are let in."""
    (long,) = decost.generate("people", nodes=60, seed=2, vehicles=3)
    plan = service.plan(instance_dict(long), time_limit=100)
    host, _, port = service.address.removeprefix("http://").partition(":")

    def listen(client: str) -> socket.socket:
        line = socket.create_connection((host, int(port)), 60)
        head = f"GET /plans/{plan}/events HTTP/1.1\r\nHost: localhost\r\n"
        line.sendall(f"{head}Cookie: decost-client={client * 32}\r\n\r\n".encode())
        return line

    def code(line: socket.socket) -> bytes:
        return line.recv(12).removeprefix(b"HTTP/1.1 ")

    lines = [listen("c") for _ in range(MOST_LISTENING)]
    try:
        assert {code(line) for line in lines} == {b"200"}
        with listen("c") as further, listen("d") as other:
            assert code(further) == b"429"
            assert code(other) == b"200"
    finally:
        for line in lines:
            line.close()
    end = time.monotonic() + 60
    while True:
        with listen("c") as later:
            if code(later) == b"200":
                break
        assert time.monotonic() < end
        time.sleep(0.05)
    assert service.client.delete(f"/plans/{plan}").status_code == 204


def test_kept_instances_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large instances push others out, by their travel times and not by their short JSON."""
    few = [
        instance_dict(one)
        for seed in range(5)
        for one in decost.generate("people", nodes=100, seed=seed)
    ]
    size = instance_of("", few[0]).planes.nbytes
    monkeypatch.setattr(desk, "MOST_BYTES", 3 * size)
    kept = desk.Instances()
    digests = [kept.take(one).digest for one in few]
    assert 1 <= len(kept._kept) <= 3
    assert kept.take({"digest": digests[-1]}).data == few[-1]
    with pytest.raises(desk.UnknownError):
        kept.take({"digest": digests[0]})


def test_who_leaves_is_no_error(tmp_path: Path, city: dict[str, Any]) -> None:
    """Clients that go in the middle, or send what is no HTTP, leave nothing in the log."""
    head = b"POST /stays HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with running(tmp_path, "--workers", "1") as service:
        host, _, port = service.address.removeprefix("http://").partition(":")
        for text in (head + b"Content-Length: 100\r\n\r\n{", head, b"GET /queue"):
            with socket.create_connection((host, int(port)), 10) as line:
                line.sendall(text)
                time.sleep(0.1)
        chunks = head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"
        for text in (chunks, b"hello\r\n\r\n", b"GET /\r\n\r\n"):
            assert b" 400 " in raw(service, text)
        said = service.end()
    assert "Traceback" not in said


def test_other_addresses_need_tokens(call: Call) -> None:
    """The service does not even start for others without a token, or without its name."""
    assert "needs tokens" in call.complaint("studio", "--host", "0.0.0.0", "--no-browser")
    with pytest.raises(SettingsError, match="allow-host"):
        Settings(host="0.0.0.0", tokens={"x" * 16: "team"}).require_safe()
    Settings(host="::1").require_safe()


def test_tokens(tmp_path: Path, city: dict[str, Any]) -> None:
    """With tokens, nothing but the page is had without one; each is a client of its own."""
    path = tmp_path / "tokens"
    path.write_text("ann secret-of-ann-0123\nben secret-of-ben-0123\n")
    options = ("--host", "0.0.0.0", "--allow-host", "plans.example", "--tokens", str(path))
    with running(tmp_path / "data", *options, "--workers", "1") as service:
        address = service.address.replace("0.0.0.0", "127.0.0.1")
        client = service.client
        client.base_url = address
        assert client.get("/").status_code == 200
        for token in (None, "Bearer wrong", "Basic secret-of-ann-0123", "Bearer ☃".encode()):
            headers: Any = {} if token is None else {"Authorization": token}
            for path_ in ("/plans", "/examples", "/openapi.json", f"/plans/{'0' * 32}"):
                assert client.get(path_, headers=headers).status_code == 401
            assert (
                client.post("/plans", json={"instance": city}, headers=headers).status_code == 401
            )
        ann, ben = ({"Authorization": f"Bearer secret-of-{one}-0123"} for one in ("ann", "ben"))
        assert client.post("/plans", json={"instance": city}, headers=ann).status_code == 202
        assert len(client.get("/plans", headers=ann).json()) == 1
        assert client.get("/plans", headers=ben).json() == []
        assert client.post("/session", json={"token": "wrong"}).status_code == 403
        assert client.post("/session", json={"token": "secret-of-ann-0123"}).status_code == 204
        assert len(client.get("/plans").json()) == 1  # by the cookie
        assert client.get("/health", headers={"Host": "plans.example"}).status_code == 200
        assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421


PATHS = [
    "..",
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/secret",
    "....//",
    "a\\..\\b",
    "/etc/passwd",
    "a%00.js",
    "%ff.js",
    "a" * 5000 + ".js",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_paths_from_clients(service: Service, city: dict[str, Any], path: str) -> None:
    """No field of a request leads to a file."""
    for place in ("/web/", "/examples/", "/plans/"):
        answer = raw(service, f"GET {place}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert b" 404 " in answer or b" 400 " in answer
    options = {"method": "decost", "weights": path}
    answer = service.post("/plans", {"instance": city, "options": options})
    assert answer.status_code == 422
    assert "choose from" in answer.json()["error"]
    for field in ({"name": path}, {"start": path}, {"instance": {"digest": path}}):
        answer = service.post("/plans", {"instance": city} | field)
        assert answer.status_code in (409, 422)


def with_path(data: Any, path: str) -> Iterator[Any]:
    """Give the data with a path in the place of every text in turn, and in that of every name."""
    if isinstance(data, str):
        yield path
    for key in (
        data if isinstance(data, dict) else range(len(data) if isinstance(data, list) else 0)
    ):
        for value in with_path(data[key], path):
            yield data | {key: value} if isinstance(data, dict) else [*data[:key], value]
    if isinstance(data, dict):
        yield data | {path: 1}


def test_dots_lead_nowhere(service: Service, city: dict[str, Any]) -> None:
    """With a path in any field, nothing is written outside of the data folder."""
    small = city | {"stops": city["stops"][:3]}
    plan = {"routes": [[{"stop": "cathedral", "start": 20.0, "stay": 10.0}]], "method": "greedy"}
    options = {"method": "greedy"}
    doors = {
        "/plans": {"instance": small, "options": options, "start": [["cathedral"]]},
        "/replan": {"instance": small, "plan": plan, "now": "30", "options": options},
        "/stays": {"instance": small, "orders": [["cathedral"]]},
        "/check": {"instance": small, "plan": plan},
        "/explain": {"instance": small, "plan": plan, "time_limit": 0.01},
        "/exports": {"instance": small, "plan": plan, "format": "ics", "date": "2026-05-04"},
        "/instances": {"files": [{"name": "a.json", "content": "e30="}]},
    }
    around = service.data.parent
    before = sorted(around.rglob("*decost-evil*"))
    sent = 0
    for path, message in doors.items():
        for wrong in with_path(message, "../../decost-evil"):
            answer = service.post(path, wrong)
            assert answer.status_code < 500
            sent += 1
    assert sent > 90
    assert sorted(around.rglob("*decost-evil*")) == before
    assert {one.name.partition(".")[0] for one in service.data.iterdir()} == {"plans", "in-use"}


def mutated(random_: random.Random, data: Any, depth: int = 0) -> Any:
    """Change a value somewhere."""
    odd = [
        None,
        True,
        -1,
        0,
        1e308,
        2**70,
        "",
        "x" * 300,
        "\u0000",
        "..",
        [],
        {},
        [[]],
        "09:30",
        "NaN",
    ]
    if not isinstance(data, dict | list) or not data or random_.random() < 0.15 * depth:
        return random_.choice(odd)
    copy = json.loads(json.dumps(data))
    key = random_.choice(list(copy)) if isinstance(copy, dict) else random_.randrange(len(copy))
    what = random_.random()
    if what < 0.15:
        del copy[key]
    elif what < 0.25 and isinstance(copy, dict):
        copy[random_.choice(["extra", "format", "id", "stops"])] = random_.choice(odd)
    else:
        copy[key] = mutated(random_, copy[key], depth + 1)
    return copy


def test_mutated_requests(service: Service, city: dict[str, Any], guides: dict[str, Any]) -> None:
    """Requests that are wrong somewhere are refused in one line, and never break the service."""
    random_ = random.Random(1)
    count = int(os.environ.get("DECOST_MUTATIONS", "60"))
    plan = {"routes": [[{"stop": "cathedral", "start": 20.0, "stay": 10.0}]]}
    quick = {"method": "greedy"}
    for number in range(count):
        instance = city if number % 2 else guides
        path, message = random_.choice(
            [
                (
                    "/plans",
                    {
                        "instance": instance,
                        "options": quick,
                        "start": [["cathedral"]],
                        "locked": ["cathedral"],
                    },
                ),
                (
                    "/replan",
                    {"instance": instance, "plan": plan, "now": 30, "options": quick, "add": []},
                ),
                ("/stays", {"instance": instance, "orders": [["cathedral"], []]}),
                ("/check", {"instance": instance, "plan": plan}),
                ("/scenes", {"instance": instance, "orders": [["cathedral"]], "insert": "market"}),
                (
                    "/scenes",
                    {"instance": instance, "plan": plan | {"status": "feasible", "bound": 9}},
                ),
                ("/explain", {"instance": instance, "plan": plan, "time_limit": 0.01}),
                ("/exports", {"instance": instance, "plan": plan, "format": "json"}),
                ("/instances", {"files": [{"name": "a.json", "content": "e30="}]}),
                ("/session", {"token": "x"}),
            ]
        )
        wrong = mutated(random_, message)
        text = json.dumps(wrong)
        if random_.random() < 0.1:
            text = text[: random_.randrange(len(text))]
        answer = service.client.post(
            path, content=text.encode(), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code < 500, (path, text)
        if answer.status_code >= 400:
            words = answer.json()["error"]
            assert "Traceback" not in words
            assert "site-packages" not in words
            assert "/decost/" not in words
