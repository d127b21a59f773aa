"""Questions to a server over HTTP: limits of time and size, no redirects, one line if it fails."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Timer
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from decost.files.limits import FormatError

SECONDS = 60.0
"""How long an answer may take, from the question to its last byte."""

MOST_BYTES = 32 * 2**20
"""Largest answer; that to a question of usual size has a hundredth of it."""

_REDIRECTS = (301, 302, 303, 307, 308)


class StreetsError(FormatError):
    """Streets cannot be had; the message names the server or the place."""


class Server:
    """A server, by its address: http or https, and nothing behind the path."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            parts = urlsplit(url)
            port, host = parts.port, parts.hostname
        except ValueError as error:
            raise StreetsError(f"{url}: is no address: {error}") from None
        if parts.scheme not in ("http", "https") or not host:
            raise StreetsError(f"{url}: must be an address such as http://127.0.0.1:8002")
        if parts.query or parts.fragment or "@" in parts.netloc or not url.isprintable():
            raise StreetsError(f"{url}: must be an address without a name, query or fragment")
        self._secure = parts.scheme == "https"
        self._host, self._port, self._path = host, port, parts.path.rstrip("/")

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Ask for JSON, with a body of JSON if there is one; give the status and the answer.

        Raises
        ------
        StreetsError
            If there is no server, or no answer that is JSON.
        """
        status, data = self._exchange(path, body)
        try:
            return status, json.loads(data)
        except (ValueError, RecursionError):
            begin = in_a_line(data[:60].decode("utf-8", "replace"))
            words = f"answers {status} with what is no JSON: {begin!r}"
            raise StreetsError(f"{self.url}: {words}") from None

    def _exchange(self, path: str, body: Any) -> tuple[int, bytes]:
        kind = HTTPSConnection if self._secure else HTTPConnection
        connection = kind(self._host, self._port, timeout=SECONDS)
        ends = monotonic() + SECONDS
        # A server that sends a byte now and then keeps every single read within its time.
        alarm = Timer(SECONDS, _hang_up, [connection])
        alarm.daemon = True
        alarm.start()
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            if body is None:
                connection.request("GET", self._path + path, headers=headers)
            else:
                headers["Content-Type"] = "application/json"
                connection.request("POST", self._path + path, json.dumps(body), headers)
            answer = connection.getresponse()
            if answer.status in _REDIRECTS:
                where = in_a_line(answer.getheader("Location", ""))
                raise StreetsError(f"{self.url}: sends on to {where!r}: give that address itself")
            data = answer.read(MOST_BYTES + 1)
        except (OSError, HTTPException, ValueError) as error:
            if isinstance(error, StreetsError):
                raise
            if isinstance(error, TimeoutError) or monotonic() >= ends:
                raise StreetsError(f"{self.url}: no answer within {SECONDS:g} s") from None
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise StreetsError(f"{self.url}: no answer: {in_a_line(why)}") from None
        finally:
            alarm.cancel()
            connection.close()
        if monotonic() >= ends:
            raise StreetsError(f"{self.url}: no answer within {SECONDS:g} s")
        if len(data) > MOST_BYTES:
            raise StreetsError(f"{self.url}: the answer is larger than {MOST_BYTES} bytes")
        return answer.status, data


def in_a_line(words: object) -> str:
    """Give words of others in one line that is not long."""
    line = " ".join(str(words).split())
    return line if len(line) <= 120 else f"{line[:117]}..."


def _hang_up(connection: HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
