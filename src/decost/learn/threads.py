"""How torch computes on this machine: in how many threads, and how precisely."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
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


@cache
def has_fast_bf16() -> bool:
    """Tell whether the processor multiplies matrices of bf16 by instructions of its own."""
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def uses_bf16(precision: str) -> bool:
    """Tell whether an encoder computes in bf16: if told so or, for "auto", where it is fast."""
    return precision == "bf16" or (precision == "auto" and has_fast_bf16())
