"""What devices read in earlier runs, as a file of a run directory: an old run is judged again by what was known then."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from clusterctl.adapters.given_file import read_given_text
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_result import Figure
from clusterctl.model.own_history import HistoryKey

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

USUAL_FILE = "gates/usual_values.json"
_VERSION = 1


class _Figure(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    gate: str
    metric: str
    unit: str
    op: str
    size_bytes: int


class _Usual(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    node: str
    device: str
    figure: _Figure
    tool_version: str
    simulated: bool
    average: float


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    schema_version: int
    usual: list[_Usual]


def usual_document(usual: Mapping[HistoryKey, float]) -> dict[str, Any]:
    """As JSON values; averages in the unit of their figure."""
    return {"schema_version": _VERSION, "usual": [{**asdict(key), "average": value} for key, value in sorted(usual.items())]}


def read_usual(directory: Path) -> dict[HistoryKey, float]:
    """What a run directory holds of it; nothing where the run had no such file.

    Raises:
        ConfigError: the file is damaged, or of another version.
    """
    file = directory / USUAL_FILE
    if not file.is_file():
        return {}
    try:
        found = _Document.model_validate_json(read_given_text(file))
    except (OSError, UnicodeDecodeError, ValidationError) as e:
        raise ConfigError(detail=f"{file}: damaged: {e}", hint="restore the run directory from a backup") from e
    if found.schema_version != _VERSION:
        hint = "use the version of clusterctl that wrote it"
        raise ConfigError(detail=f"{file}: has schema_version {found.schema_version}", hint=hint)
    return {HistoryKey(u.node, u.device, Figure(**u.figure.model_dump()), u.tool_version, u.simulated): u.average for u in found.usual}
