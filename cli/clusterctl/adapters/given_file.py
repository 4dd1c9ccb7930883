"""Files that a person names, or that others can write: only regular files of a limited size are read, so that none blocks a command or fills its memory."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_LIMIT_BYTES = 256 * 1024 * 1024


def read_given(file: Path, limit_bytes: int = _LIMIT_BYTES) -> bytes:
    """The content of a file.

    Raises:
        OSError: it cannot be read, is a pipe or a device (EINVAL), or is larger than `limit_bytes` (EFBIG).
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without a writer would block
    with os.fdopen(descriptor, "rb") as opened:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(file))
        content = opened.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes} bytes", str(file))
    return content


def read_given_text(file: Path) -> str:
    """The text of a file in UTF-8.

    Raises:
        OSError: as `read_given`.
        UnicodeDecodeError: it is not text in UTF-8.
    """
    return read_given(file).decode("utf-8")


def all_may_write(path: Path) -> bool:
    """Whether every user of this machine can write a file or into a folder: a configuration that is found there may be anybody's."""
    return bool(path.stat().st_mode & stat.S_IWOTH)


def encoding_problem(content: bytes) -> str:
    """`2: byte 0xfc is not UTF-8`, with the line; empty where all of it is."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as e:
        return f"{1 + content[: e.start].count(10)}: byte 0x{content[e.start]:02x} is not UTF-8"
    return ""
