"""Tests of writing: whole or not at all, and never at the cost of what was there."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import decost
from decost.files.writing import replacing, require_writable, write_text

ONE = decost.Instance(budget=1, xy=[[0, 0], [1, 1]])
THINGS: dict[str, Any] = {
    "one.json": ONE,
    "set.npz": decost.generate("paper", nodes=4, count=2),
    "set.jsonl": decost.generate("mixed", nodes=4, count=2),
    "plan.json": decost.Result(ONE, decost.make_solution(ONE, [], []), "optimal"),
}


def names(folder: Path) -> set[str]:
    """Name everything in a folder, hidden files too."""
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", THINGS)
def test_failing_write_leaves_the_old_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk is full half way, the old file is there and nothing else is."""
    path = tmp_path / name
    path.write_text("old")

    def write_half(target: Path) -> NoReturn:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", lambda self, *rest, **more: write_half(self))
    monkeypatch.setattr(np, "savez_compressed", lambda file, **more: write_half(Path(file.name)))
    with pytest.raises(OSError, match=f"No space left on device: '{path}'") as caught:
        decost.write(THINGS[name], path)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert names(tmp_path) == {name}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_any_failure_cleans_up(error: type[BaseException], tmp_path: Path) -> None:
    """Whatever ends the writing, the temporary file goes."""
    path = tmp_path / "a"
    path.write_text("old")

    def write_half() -> NoReturn:
        with replacing(path) as temporary:
            temporary.write_text("half")
            assert path.read_text() == "old"
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert names(tmp_path) == {"a"}


@pytest.mark.parametrize("name", THINGS)
def test_missing_folder(name: str, tmp_path: Path) -> None:
    """A folder that does not exist is not made, and named."""
    path = tmp_path / "none" / name
    with pytest.raises(FileNotFoundError, match="there is no folder") as caught:
        decost.write(THINGS[name], path)
    assert str(path) in str(caught.value)
    assert names(tmp_path) == set()


def test_folder_in_the_way(tmp_path: Path) -> None:
    """A folder is not replaced by a file."""
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_text(tmp_path, "new")


@pytest.mark.parametrize("closed", ["file", "folder"])
@pytest.mark.parametrize("exists", [True, False])
def test_read_only(
    closed: str, exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be written is said before any work is done (root may write everywhere)."""
    path = tmp_path / "a"
    if exists:
        path.write_text("old")
    blocked = path if closed == "file" else tmp_path
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != blocked)
    if closed == "file" and not exists:
        require_writable(path)
        return
    with pytest.raises(PermissionError, match="written"):
        write_text(path, "new")
    assert names(tmp_path) == ({"a"} if exists else set())


def test_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    """A private file stays private, and a new one gets the usual mode."""
    private, usual, new = (tmp_path / name for name in "abc")
    private.write_text("old")
    private.chmod(0o600)
    usual.write_text("")
    write_text(private, "new")
    write_text(new, "new")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert new.stat().st_mode == usual.stat().st_mode


def test_link_is_followed(tmp_path: Path) -> None:
    """Writing through a link replaces the file and keeps the link, if it leads somewhere."""
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(file)
    for text in ("first", "second"):
        write_text(link, text)
        assert file.read_text() == text
        assert link.is_symlink()
    assert names(tmp_path / "there") == {"file"}


def test_link_to_itself(tmp_path: Path) -> None:
    """A link in a circle does no harm."""
    link = tmp_path / "link"
    link.symlink_to(link)
    write_text(link, "new")
    assert link.read_text() == "new"


def test_long_name(tmp_path: Path) -> None:
    """Any name that the file system takes can be written, however long or strange."""
    for name in ("a." + "b" * 240, "\u00e9" * 120, ".hidden", "with space [b] $x$"):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).read_text() == "new"


def test_name_too_long_is_named(tmp_path: Path) -> None:
    """An error is about the file asked for, not about a temporary one."""
    path = tmp_path / ("a" * 300)
    with pytest.raises(OSError, match="name too long") as caught:
        write_text(path, "new")
    assert caught.value.filename == str(path)


def test_errors_about_other_files_are_not_renamed(tmp_path: Path) -> None:
    """An error about a file that is read while writing names that file."""
    other = tmp_path / "other"
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "a"):
        other.read_text()
    assert caught.value.filename == str(other)


def test_pipe(tmp_path: Path) -> None:
    """A pipe is written to, not replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "new")
    reader.join()
    assert seen == ["new"]
    assert pipe.is_fifo()


def test_leftovers_are_removed(tmp_path: Path) -> None:
    """What a killed process left behind goes with the next writing; what is in use stays."""
    killed = tmp_path / ".decost-0123456789abcdef.tmp"
    killed.write_text("half")
    with replacing(tmp_path / "a") as first:
        first.write_text("a")
        with replacing(tmp_path / "b") as second:
            second.write_text("b")
            assert names(tmp_path) == {first.name, second.name}
        assert first.read_text() == "a"
    assert names(tmp_path) == {"a", "b"}
    assert (tmp_path / "a").read_text() == "a"


KILLED = """
import os, signal, sys
from decost.files.writing import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_killed_while_writing(tmp_path: Path) -> None:
    """A process that is killed leaves the old file, and one temporary file until the next."""
    path = tmp_path / "a"
    path.write_text("old")
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=300)
        assert path.read_text() == "old"
        assert len(names(tmp_path)) == 2
    write_text(path, "new")
    assert names(tmp_path) == {"a"}
