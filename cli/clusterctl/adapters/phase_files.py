"""The phases of a run as files of its run directory: two for each, one at its begin and one at its end. None is written twice, because admissions record digests of files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clusterctl.adapters.given_file import read_given_text
from clusterctl.model.errors import ConfigError
from clusterctl.model.run_timeline import PhasePart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.run_directory import RunDir

PHASES_FOLDER = "phases"
# Ten years: no phase takes longer, and a picture has no room for such numbers.
_Seconds = Annotated[float, Field(ge=0.0, le=10 * 366 * 86400.0)]


class _Begin(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1]
    phase: str
    began_at: str
    nodes: tuple[str, ...]


class _End(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    schema_version: Literal[1]
    is_over: bool
    spans: dict[str, tuple[_Seconds, _Seconds]]


def write_begin(rundir: RunDir, number: int, phase: str, began_at: str, nodes: Sequence[str]) -> None:
    """A phase begins on these nodes."""
    _write(rundir, f"{number:03d}-begin", {"schema_version": 1, "phase": phase, "began_at": began_at, "nodes": list(nodes)})


def write_end(rundir: RunDir, number: int, spans: Mapping[str, tuple[float, float]], *, is_over: bool) -> None:
    """It ended, or the run ended in it."""
    rounded = {node: [round(s, 2) for s in span] for node, span in spans.items()}
    _write(rundir, f"{number:03d}-end", {"schema_version": 1, "is_over": is_over, "spans": rounded})


def read_phases(directory: Path) -> tuple[PhasePart, ...]:
    """The phases of a run directory in their order; none where an earlier version wrote it.

    Raises:
        ConfigError: a file is damaged.
    """
    found = []
    for file in sorted((directory / PHASES_FOLDER).glob("*-begin.json")):
        end_file = file.with_name(file.name.replace("-begin", "-end"))
        try:
            begin = _Begin.model_validate_json(read_given_text(file))
            end = _End.model_validate_json(read_given_text(end_file)) if end_file.is_file() else None
        except (OSError, UnicodeDecodeError, ValidationError) as e:
            raise ConfigError(detail=f"{PHASES_FOLDER}/{file.name}: damaged: {e}", hint="restore the run directory from a backup") from e
        found.append(PhasePart(begin.phase, begin.began_at, begin.nodes, end.spans if end else {}, end.is_over if end else False))
    return tuple(found)


def _write(rundir: RunDir, name: str, document: Mapping[str, object]) -> None:
    rundir.write_text(f"{PHASES_FOLDER}/{name}.json", json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
