"""Writes the files and links of the simulated /proc and /sys."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_files(root: str, files: Mapping[str, str | int | bytes]) -> None:
    """Write `{relative path: content}` below `root` with mode 0644; text gets a final newline."""
    created: set[str] = set()
    for name, content in files.items():
        path = f"{root}/{name}"
        folder = path.rpartition("/")[0]
        if folder not in created:
            os.makedirs(folder, exist_ok=True)
            created.add(folder)
        data = content if isinstance(content, bytes) else f"{content}\n".encode()
        with open(path, "wb", buffering=0) as file:
            file.write(data)


def make_links(root: str, links: Mapping[str, str]) -> None:
    """Create symbolic links `{relative path: target}` below `root`."""
    for name, target in links.items():
        path = f"{root}/{name}"
        os.makedirs(path.rpartition("/")[0], exist_ok=True)
        os.symlink(target, path)


def copy_values(source: str, target: str) -> None:
    """Copy a tree of /proc/sys with its modes. Each file is read once; a file that cannot be read becomes empty."""
    os.makedirs(target, exist_ok=True)
    for entry in os.scandir(source):
        into = f"{target}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            copy_values(entry.path, into)
            continue
        mode = entry.stat().st_mode & 0o777
        data = b""
        if mode & 0o444 and entry.name != "stat_refresh":  # reading it would trigger work in the kernel
            try:
                with open(entry.path, "rb") as file:
                    data = file.read()
            except OSError:  # some files are readable only for their owner or while a feature is enabled
                data = b""
        with open(into, "wb", buffering=0) as file:
            file.write(data)
        os.chmod(into, mode)
