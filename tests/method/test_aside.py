"""Tests of work in another thread: its answer, its errors, and Ctrl-C in any moment."""

from __future__ import annotations

import os
import threading
import time

import pytest

from decost.method.aside import Aside


@pytest.mark.parametrize("again", [False, True])
def test_answer(again: bool) -> None:
    """It comes from another thread; one that is kept does all such work."""
    threads = [Aside(threading.get_ident, again=again).answer() for _ in range(3)]
    assert threading.get_ident() not in threads
    assert not again or len(set(threads)) == 1


def test_errors_come_here() -> None:
    """What fails there is raised here, whatever it is."""
    for error in (ZeroDivisionError, KeyboardInterrupt, SystemExit):

        def fail(error: type[BaseException] = error) -> None:
            raise error

        with pytest.raises(error):
            Aside(fail).answer()


def test_waiting_is_not_for_long() -> None:
    """To wait ends before the work does, and says so."""
    go_on = threading.Event()
    aside = Aside(go_on.wait)
    assert not aside.wait(0.01)
    assert not aside.ended
    go_on.set()
    assert aside.answer() is True
    assert aside.ended
    assert aside.wait()


def test_interrupted_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C that comes right after the lock was taken does not keep the work from its end."""
    aside = Aside(lambda: time.sleep(0.05) or 3)

    class Torn:
        """A lock that is taken and then interrupted, as by a signal between two steps."""

        def __init__(self, lock: object) -> None:
            self.lock = lock

        def acquire(self, timeout: float) -> bool:
            self.lock.acquire(timeout=timeout)
            raise KeyboardInterrupt

    lock = aside._running
    monkeypatch.setattr(aside, "_running", Torn(lock))
    with pytest.raises(KeyboardInterrupt):
        aside.wait(1.0)
    monkeypatch.undo()
    assert aside.answer() == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_child_has_a_thread_of_its_own() -> None:
    """The kept thread does not live on in a child process, which makes another."""
    assert Aside(lambda: 1, again=True).answer() == 1
    child = os.fork()
    if child == 0:
        os._exit(7 if Aside(lambda: 2, again=True).answer() == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
