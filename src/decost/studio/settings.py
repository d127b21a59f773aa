"""What somebody who runs the service may choose."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Names of this computer itself."""


class SettingsError(ValueError):
    """Settings with which the service would not be safe, or cannot run."""


def data_folder() -> Path:
    """Give the folder for plans: `DECOST_DATA`, or one in the user's data folder."""
    told = os.environ.get("DECOST_DATA")
    if told:
        return Path(told)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Application Support")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share")
    return base.expanduser() / "decost"


@dataclass(frozen=True)
class Settings:
    """How the service runs.

    Attributes
    ----------
    host, port
        Where it listens.
    hosts
        Further names under which it is reached, such as that of a reverse proxy.
    tokens
        Names of clients by their tokens; without any everybody is let in, which is for loopback
        alone.
    data
        Folder of the plans.
    workers
        How many plans are made at a time.
    time_limit
        Most seconds that a plan may take.
    memory
        Most gigabytes of a worker.
    queue, own_queue
        Most plans that wait, of all clients and of one.
    body
        Most bytes of a request.
    days, gigabytes
        How long plans are kept, and how much room they may take.
    """

    host: str = "127.0.0.1"
    port: int = 8377
    hosts: tuple[str, ...] = ()
    tokens: dict[str, str] = field(default_factory=dict)
    data: Path = field(default_factory=data_folder)
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    time_limit: float = 600.0
    memory: float = 3.0
    queue: int = 1000
    own_queue: int = 200
    body: int = 32 * 2**20
    days: float = 30.0
    gigabytes: float = 2.0

    def require_safe(self) -> None:
        """Refuse to listen to others without a token, or under no name.

        Raises
        ------
        SettingsError
            If that would happen.
        """
        if is_loopback(self.host):
            return
        if not self.tokens:
            raise SettingsError(
                f"host = {self.host!r}: is not this computer alone, and needs tokens of clients"
            )
        if self.host in ("0.0.0.0", "::", "") and not self.hosts:
            raise SettingsError(
                f"host = {self.host!r}: is every address, and needs the name under which the "
                "service is reached (--allow-host)"
            )

    @property
    def names(self) -> frozenset[str]:
        """Names of hosts that a request may be for."""
        return frozenset(name.lower() for name in (*LOOPBACK, self.host, *self.hosts))


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach an address."""
    if host in LOOPBACK:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
