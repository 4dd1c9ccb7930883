"""Recorded outputs of real tools, beside the project; a test that needs an absent one is skipped and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = ROOT.parent / "shared" / "recorded"


def recorded(name: str) -> Path:
    """The recording, a file or a folder."""
    path = RECORDED / name
    if not path.exists():
        pytest.skip(f"the recording {name} is not beside the project (../shared/recorded)")
    return path
