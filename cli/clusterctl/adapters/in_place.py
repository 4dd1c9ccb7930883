"""Which paths are written to as they are. All others are replaced by a complete file, so that no reader gets half of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_OF_THE_KERNEL = "/proc"


def is_written_in_place(path: Path) -> bool:
    """Whether `path` is a device, a pipe or a socket, or `/dev/stdout`: a file in its place would take it from all other programs."""
    if not path.exists() or path.is_dir():
        return False
    return not path.is_file() or (path.is_symlink() and _is_of_a_process(path))


def _is_of_a_process(link: Path) -> bool:
    """`/dev/stdout` leads to `/proc/self/fd/1`, and `/dev/fd` to the folder of that."""
    return any(p.is_relative_to(_OF_THE_KERNEL) for p in (link.parent.resolve(), link.parent / link.readlink()))
