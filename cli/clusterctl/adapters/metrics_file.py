"""Files that node exporter's textfile collector reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clusterctl.adapters.in_place import is_written_in_place
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def replace_metrics(file: Path, text: str) -> None:
    """In one step, because the collector must never read half a file; readable by its user. A device or a pipe is written to.

    Raises:
        ConfigError: it cannot be written there.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if is_written_in_place(file):
            file.write_text(text, encoding="utf-8")
            return
        draft.write_text(text, encoding="utf-8")
        draft.chmod(0o644)
        draft.replace(file)
    except OSError as e:
        raise ConfigError(detail=f"cannot write {file}: {e.strerror}", hint="name a file in a folder that this user may write to") from e
