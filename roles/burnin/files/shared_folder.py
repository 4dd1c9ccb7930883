"""The folder of a run on a mounted file system, and what dead runs left there. Standard library, Python 3.8+.

Everything is opened relative to a descriptor of the mount's own root, and never through a link: where nothing is mounted, nothing is written.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MOUNTS = Path("/proc/self/mountinfo")
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# The last word is the time limit of the run, in seconds. A folder that is being made begins with a dot.
NAME = re.compile(r"^\.?run-[0-9a-f]{16}-(\d{1,6})$")
# Not confirmed on every file system: that a new folder has the time of the server, as on NFS, and not that of the client.
# An agent ends a command a few seconds after its limit.
MARGIN_S = 120


class NotMountedError(Exception):
    """No file system is mounted there."""


class Mount(NamedTuple):
    """A mounted file system: a descriptor of its root, and what the kernel calls it."""

    root: int
    fstype: str
    source: str


def open_mount(path: str, table: Path = MOUNTS) -> Mount:
    """The file system at a mount point. Opening it starts an automount.

    Raises:
        NotMountedError: the descriptor is not of the last mount at that path, so it may be a folder of the root disk.
        OSError: it cannot be opened.
    """
    root = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    here = re.search(r"^mnt_id:\s*(\d+)", Path(f"/proc/self/fdinfo/{root}").read_text(encoding="ascii"), re.MULTILINE)
    lines = [line.split() for line in table.read_text(encoding="utf-8", errors="replace").splitlines()]
    last = next((words for words in reversed(lines) if words[4] == path), None)
    if here is None or last is None or last[0] != here.group(1):
        os.close(root)
        raise NotMountedError(f"nothing is mounted at {path}")
    fstype, source = last[last.index("-") + 1 :][:2]
    if fstype == "autofs":
        os.close(root)
        raise NotMountedError(f"{path} is not mounted yet")
    return Mount(root, fstype, source)


def open_folder(root: int, words: list[str], *, make: bool = False) -> int:
    """A folder below a mount's root, opened anew, so that a client of NFS asks the server for its content.

    Raises:
        NotMountedError: a part of the way is on another file system, or leads up.
        OSError: a part of the way is missing, a link, or not permitted.
    """
    if {".", ".."} & set(words):
        raise NotMountedError(f"{'/'.join(words)} leads out of the mount")
    device = os.fstat(root).st_dev
    opened = os.dup(root)
    for name in words:
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=opened)
            below = os.open(name, FOLDER, dir_fd=opened)
        finally:
            os.close(opened)
        opened = below
        if os.fstat(opened).st_dev != device:
            os.close(opened)
            raise NotMountedError(f"{'/'.join(words)} is on another file system than the mount")
    return opened


def names_in(folder: int, name: str) -> list[str]:
    """The entries of a folder in a folder, as the server has them now."""
    opened = os.open(name, FOLDER, dir_fd=folder)
    try:
        return os.listdir(opened)  # noqa: PTH208 a descriptor has no path
    finally:
        os.close(opened)


def remove_tree(folder: int, name: str) -> None:
    """Remove a folder with all that is in it, without following a link. Others may remove it at the same time."""
    with suppress(OSError):
        for _, folders, files, opened in os.fwalk(name, topdown=False, dir_fd=folder):
            for entry in files:
                with suppress(OSError):
                    os.unlink(entry, dir_fd=opened)
            for entry in folders:
                with suppress(OSError):
                    os.rmdir(entry, dir_fd=opened)
        os.rmdir(name, dir_fd=folder)


def remove_dead_runs(folder: int, now: float) -> list[str]:
    """Remove the folders of runs that are over, by their names; `now` is the time of the server. Returns what was removed."""
    removed = []
    for name in sorted(names_in(folder, ".")):
        found = NAME.match(name)
        with suppress(OSError):
            if found and now - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > int(found.group(1)) + MARGIN_S:
                remove_tree(folder, name)
                removed.append(name)
    return removed
