"""Small servers on this machine that answer as tests want."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

Answer = Callable[[str, Any], tuple[int, Any]]
"""From the path and the body of a question to the status and the answer; bytes are sent as is."""


@contextmanager
def serving(answer: Answer, headers: dict[str, str] | None = None) -> Iterator[str]:
    """Start a server, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            status, content = answer(self.path, body)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            with suppress(OSError):  # nobody may wait for it any more
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def question(path: str, body: Any) -> str:
    """Give a name to a question."""
    return f"{path} {json.dumps(body, sort_keys=True)}"


@contextmanager
def replaying(file: Path) -> Iterator[str]:
    """Start a server that gives recorded answers, and no others."""
    recorded = json.loads(file.read_text(encoding="utf-8"))

    def answer(path: str, body: Any) -> tuple[int, Any]:
        status, content = recorded[question(path, body)]
        return status, content

    with serving(answer) as url:
        yield url
