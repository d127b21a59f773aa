"""How many threads torch uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

_users: list[int] = []  # how many threads torch had before the first of those that run now
_counting = Lock()

if hasattr(os, "register_at_fork"):  # a child would have the lock, but not who opens it again
    os.register_at_fork(
        before=_counting.acquire,
        after_in_parent=_counting.release,
        after_in_child=_counting.release,
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: instances are many, and tensors small."""
    with _counting:
        _users.append(_users[0] if _users else torch.get_num_threads())
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _counting:
            before = _users.pop()
            if not _users:
                torch.set_num_threads(before)
