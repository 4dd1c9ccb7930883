"""The mount system call."""

from __future__ import annotations

import ctypes
import os

BIND = 4096
MOVE = 8192
RECURSIVE = 16384


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system.

    Raises:
        OSError: with the target's name.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode() or None):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), target)


def bind(source: str, target: str) -> None:
    """Bind-mount `source` and all mounts below it at `target`."""
    mount(source, target, flags=BIND | RECURSIVE)


def new_tmpfs(target: str) -> str:
    """Mount an empty tmpfs at the new folder `target`."""
    os.makedirs(target)
    mount("clusterctl-lab", target, "tmpfs", data="mode=755")
    return target


def move_mount(source: str, target: str) -> None:
    """Move the mount at `source` to `target`."""
    mount(source, target, flags=MOVE)
