"""The service on a socket, until it is asked to end."""

from __future__ import annotations

import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from decost.studio.service import make_service
from decost.studio.settings import Settings, SettingsError


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
        port = listener.getsockname()[1]
        name = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{name}:{port}/"
        server = _Server(
            uvicorn.Config(
                make_service(settings),
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
