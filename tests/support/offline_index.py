"""An environment in which pip uses no package index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def offline(wheels: Path) -> dict[str, str]:
    """Environment variables that restrict pip to the wheels in one folder."""
    return {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
