"""A saved plan on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.given_file import read_given_text
from clusterctl.core.saved_plan import HOW_TO_SAVE, SavedPlan, parse_saved_plan
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def read_plan(file: Path) -> SavedPlan:
    """The plan that `clusterctl plan --out FILE` wrote.

    Raises:
        ConfigError: the file cannot be read, or is not a saved plan.
    """
    try:
        text = read_given_text(file)
    except OSError as e:
        raise ConfigError(detail=f"{file}: {e.strerror}", hint=HOW_TO_SAVE) from e
    except UnicodeDecodeError as e:
        raise ConfigError(detail=f"{file}: not a saved plan: {e!r}", hint=HOW_TO_SAVE) from e
    return parse_saved_plan(text, file)
