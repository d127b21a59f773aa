"""A service of its own for tests: started, asked, killed and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import httpx

ENDS = ("optimal", "feasible", "incomplete", "infeasible", "failed")


class Service:
    """A running service."""

    def __init__(self, data: Path, *options: str, **environment: str) -> None:
        command = [sys.executable, "-m", "decost", "studio", "--no-browser", "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--data", str(data), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | environment,
            text=True,
        )
        self.data = data
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://(\S+)/ ", line)
        assert found, line + self.process.communicate()[1]
        self.address = f"http://{found[1]}"
        self.client = httpx.Client(base_url=self.address, timeout=200)

    @contextmanager
    def another(self, **headers: str) -> Iterator[Service]:
        """Give the same service to a client of its own."""
        other = copy(self)
        with httpx.Client(base_url=self.address, timeout=120, headers=headers) as other.client:
            yield other

    def post(self, path: str, message: Any, **headers: str) -> httpx.Response:
        """Send JSON."""
        return self.client.post(path, json=message, headers=headers)

    def plan(self, instance: Any, **options: Any) -> str:
        """Ask for a plan."""
        answer = self.post("/plans", {"instance": instance, "options": options})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def result(self, plan: str, seconds: float = 200.0) -> dict[str, Any]:
        """Wait for a plan."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            told: dict[str, Any] = self.client.get(f"/plans/{plan}").json()
            if told["status"] in ENDS:
                return told
            time.sleep(0.02)
        raise AssertionError(f"no end of {plan}: {told}")

    def events(self, plan: str) -> list[tuple[str, dict[str, Any]]]:
        """Listen to a plan until its end."""
        found = []
        with self.client.stream("GET", f"/plans/{plan}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            event = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    found.append((event, json.loads(line.removeprefix("data: "))))
        return found

    def workers(self) -> list[int]:
        """Give the ids of its worker processes."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        return [int(word) for word in listed.stdout.split()]

    def megabytes(self) -> float:
        """Give the memory of the service itself, 0 where nobody says so."""
        path = Path(f"/proc/{self.process.pid}/status")
        if not path.exists():
            return 0.0
        found = re.search(r"VmRSS:\s+(\d+) kB", path.read_text())
        return float(found[1]) / 1024 if found else 0.0

    def cpu(self) -> float:
        """Give the CPU seconds of the service itself, 0 where nobody says so."""
        path = Path(f"/proc/{self.process.pid}/stat")
        if not path.exists():
            return 0.0
        user, system = path.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End it as a power cut would."""
        self.client.close()
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def end(self) -> str:
        """End it in order; give what it has complained of."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=300)[1].splitlines()
        return "\n".join(line for line in said if not line.startswith("compiling"))


@contextmanager
def running(data: Path, *options: str, **environment: str) -> Iterator[Service]:
    """Run a service while something is tried."""
    service = Service(data, *options, **environment)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.end()
