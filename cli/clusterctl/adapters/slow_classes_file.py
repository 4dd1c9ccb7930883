"""The classes that were slow as a whole in a burn-in, as a file of its run directory."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from clusterctl.adapters.given_file import read_given_text
from clusterctl.model.errors import ConfigError
from clusterctl.model.slow_class import SlowClass  # noqa: TC001 pydantic evaluates the annotations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SLOW_FILE = "gates/slow_classes.json"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1]
    slow: tuple[SlowClass, ...]


def slow_document(slow: Sequence[SlowClass]) -> dict[str, Any]:
    """As JSON values."""
    return {"schema_version": 1, "slow": [asdict(one) for one in slow]}


def read_slow(directory: Path) -> tuple[SlowClass, ...]:
    """The slow classes of a run directory; none where the run has no such file.

    Raises:
        ConfigError: the file is damaged.
    """
    file = directory / SLOW_FILE
    if not file.is_file():
        return ()
    try:
        return _Document.model_validate_json(read_given_text(file)).slow
    except (OSError, UnicodeDecodeError, ValidationError) as e:
        raise ConfigError(detail=f"{file}: damaged: {e}", hint="restore the run directory from a backup") from e
