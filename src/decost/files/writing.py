"""Writing files so that a failure never costs what was there before."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of `path` on success.

    On an error the temporary file is removed and whatever was at `path` stays as it was. What
    a process that was killed has left behind is removed by the next that writes there.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written, or `path` is a folder.
    """
    require_writable(path)
    if is_special(path):
        try:
            yield Path(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        return
    target = linked(path)
    _remove_leftovers(target.parent)
    temporary = target.with_name(f".decost-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("wb") as mark:
            lock(mark)  # so that others see that it is not left behind
            yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        # Name the file that was asked for, not the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(path: str | Path) -> None:
    """Raise an OSError now if `path` could not be written later."""
    place, folder = Path(path), linked(path).parent
    if place.is_dir():
        raise IsADirectoryError(f"{path}: is a folder")
    if not (folder.is_dir() or place.exists()):
        raise FileNotFoundError(f"{path}: there is no folder {place.parent}")
    if not os.access(place if place.exists() else folder, os.W_OK):
        raise PermissionError(f"{path}: cannot be written")
    if not is_special(place) and not os.access(folder, os.W_OK):
        raise PermissionError(f"{path}: nothing can be written in its folder")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def lock(file: IO[Any] | int) -> bool:
    """Claim an open file, or a folder by its descriptor, until it is closed.

    Gives False if another process has it.

    Where files cannot be locked (Windows, some network folders), all claims are granted.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def linked(path: str | Path) -> Path:
    """Where a link leads, so that the file there is replaced and not the link."""
    return Path(os.path.realpath(path))


def part_of(out: Path) -> Path:
    """Name the file that holds what is finished until all is."""
    target = linked(out)
    return target.with_name(f"{target.name}.part")


def is_special(path: str | Path) -> bool:
    """Whether there is something that cannot be replaced: a device or a pipe."""
    return Path(path).exists() and not Path(path).is_file()


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files in a folder that no process writes any more."""
    if fcntl is None:
        return
    for path in folder.glob(".decost-*.tmp"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
