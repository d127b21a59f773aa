"""Writing files so that a failure never costs what was there before; what reading may raise."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FormatError(ValueError):
    """A file cannot be read; the message names the file, the field and the value."""


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of `path` on success.

    On an error the temporary file is removed and whatever was at `path` stays as it was.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written, or `path` is a folder.
    """
    require_writable(path)
    if _is_special(Path(path)):  # a device or a pipe cannot be replaced
        yield Path(path)
        return
    target = _linked(path)
    temporary = target.with_name(f".decost-{secrets.token_hex(8)}.tmp")
    try:
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
    place, folder = Path(path), _linked(path).parent
    if place.is_dir():
        raise IsADirectoryError(f"{path}: is a folder")
    if not (folder.is_dir() or place.exists()):
        raise FileNotFoundError(f"{path}: there is no folder {place.parent}")
    if not os.access(place if place.exists() else folder, os.W_OK):
        raise PermissionError(f"{path}: cannot be written")
    if not _is_special(place) and not os.access(folder, os.W_OK):
        raise PermissionError(f"{path}: nothing can be written in its folder")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _linked(path: str | Path) -> Path:
    """Where a link leads, so that the file there is replaced and not the link."""
    return Path(os.path.realpath(path))


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()
