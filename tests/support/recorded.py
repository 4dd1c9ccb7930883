"""Recorded outputs of real tools in a folder next to the project. A test whose recording is missing is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = ROOT.parent / "shared" / "recorded"


def recorded(name: str) -> Path:
    """The file or folder of a recording."""
    path = RECORDED / name
    if not path.exists():
        pytest.skip(f"the recording {name} is missing in ../shared/recorded")
    return path
