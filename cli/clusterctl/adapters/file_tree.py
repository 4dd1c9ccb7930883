"""The files of a folder, for what is sent or compared as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Path in the folder and content of all files but byte code; links to folders are followed: plug-ins reach the tools by one."""
    for where, _, names in os.walk(folder, followlinks=True):
        for path in (Path(where, name) for name in names):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(folder)), path.read_bytes()
