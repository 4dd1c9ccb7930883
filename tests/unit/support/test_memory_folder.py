"""Tests write to memory where it has room and lets them start programs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from support.memory_folder import LEAST_FREE_BYTES, memory_folder

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class FileSystem:
    """What statvfs says of one."""

    f_bavail: int = LEAST_FREE_BYTES // 4096
    f_frsize: int = 4096
    f_flag: int = 0


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (FileSystem(), True),
        (FileSystem(f_bavail=LEAST_FREE_BYTES // 4096 - 1), False),
        (FileSystem(f_flag=os.ST_NOEXEC), False),
        (FileSystem(f_flag=os.ST_RDONLY), False),
        (FileSystem(f_flag=os.ST_NOSUID), True),
    ],
    ids=["room", "no room", "noexec", "read-only", "nosuid"],
)
def test_it_needs_room_and_programs(given: FileSystem, used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _folder: given)
    assert memory_folder(tmp_path) == (tmp_path if used else None)


def test_a_machine_may_have_none(tmp_path: Path) -> None:
    assert memory_folder(tmp_path / "absent") is None
