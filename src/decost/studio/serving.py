"""The service on a socket, until it is asked to end."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from decost.studio.guard import PATIENCE
from decost.studio.service import make_service
from decost.studio.settings import Settings, SettingsError

MOST_CONNECTIONS = 2000
"""Connections at a time; further ones are answered with code 503."""


class _Protocol(H11Protocol):
    """Closes connections on which no whole head of a request arrives in time.

    Nor does it wait for the rest of a body that was refused.
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take more of a request."""
        super().data_received(data)
        refused = self.cycle is not None and self.cycle.response_complete
        if self.conn.their_state is h11.IDLE or refused:
            self._wait()
        elif self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        if self._waiting is not None:
            self._waiting.cancel()

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(PATIENCE, self._hang_up)

    def _hang_up(self) -> None:
        self.transport.close()


class _Server(uvicorn.Server):
    """A server for which a signal is a way to end in order, of which nobody else need hear."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that ask to end."""
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _allow_files(count: int) -> None:
    """Let this process have so many open files, as far as that may be."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def serve(settings: Settings, *, browser: bool, say: Callable[[str], object]) -> None:
    """Run the service.

    Parameters
    ----------
    settings
        How it runs.
    browser
        Whether to open its page.
    say
        Is told the address.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
        except OSError as error:
            raise SettingsError(
                f"{settings.host}:{settings.port}: {error.strerror}; try another --port"
            ) from None
        listener.listen(512)
        _allow_files(MOST_CONNECTIONS + 200)
        port = listener.getsockname()[1]
        name = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{name}:{port}/"
        server = _Server(
            uvicorn.Config(
                make_service(settings),
                http=_Protocol,
                limit_concurrency=MOST_CONNECTIONS,
                log_level="warning",
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=3,
                timeout_keep_alive=30,
                h11_max_incomplete_event_size=65536,
            )
        )

        def tell() -> None:
            while not server.started and not server.should_exit:
                time.sleep(0.02)
            say(f"decost studio: {address} (Ctrl-C to end)")
            if browser:
                webbrowser.open(address)

        threading.Thread(target=tell, daemon=True).start()
        server.run(sockets=[listener])
