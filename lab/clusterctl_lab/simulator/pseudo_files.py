"""Write many small files, as a kernel's pseudo file systems show them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_files(root: str, files: Mapping[str, str | int | bytes]) -> None:
    """Write `{relative path: content}` below `root`; text gets its final newline. Modes: 0644."""
    made: set[str] = set()
    for name, content in files.items():
        path = f"{root}/{name}"
        folder = path.rpartition("/")[0]
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        data = content if isinstance(content, bytes) else f"{content}\n".encode()
        with open(path, "wb", buffering=0) as file:
            file.write(data)


def make_links(root: str, links: Mapping[str, str]) -> None:
    """Make `{relative path: target}` symbolic links below `root`."""
    for name, target in links.items():
        path = f"{root}/{name}"
        os.makedirs(path.rpartition("/")[0], exist_ok=True)
        os.symlink(target, path)


def copy_values(source: str, target: str) -> None:
    """Copy a tree of /proc/sys: each file is read once; one that cannot be read becomes empty; modes are kept."""
    os.makedirs(target, exist_ok=True)
    for entry in os.scandir(source):
        into = f"{target}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            copy_values(entry.path, into)
            continue
        mode = entry.stat().st_mode & 0o777
        data = b""
        if mode & 0o444 and entry.name != "stat_refresh":  # reading that one makes the kernel work
            try:
                with open(entry.path, "rb") as file:
                    data = file.read()
            except OSError:  # some answer only to their owner or while a feature is on
                data = b""
        with open(into, "wb", buffering=0) as file:
            file.write(data)
        os.chmod(into, mode)
