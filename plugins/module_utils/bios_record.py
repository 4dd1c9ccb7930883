"""A record on the controller of values written to a BMC, to detect a reset that did not apply them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Record:
    """The record of one machine; without a folder nothing is stored."""

    def __init__(self, folder: str | None, machine: str) -> None:
        self._file = Path(folder) / (re.sub(r"[^A-Za-z0-9.-]", "_", machine) + ".json") if folder else None

    def written(self) -> dict[str, Any]:
        """Attribute -> value that was written but not yet found in force; a damaged record counts as empty."""
        if self._file is None or not self._file.is_file():
            return {}
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def store(self, written: Mapping[str, Any]) -> None:
        """Replace the record."""
        if self._file is None:
            return
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = self._file.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps(dict(written)), encoding="utf-8")
        scratch.replace(self._file)

    def forget(self) -> None:
        """Delete the record: all values are in force, or a problem was reported."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
