"""The versions of driver, firmware and kernel on the nodes of a burn-in, as a file of its run directory: an old run is judged again by what ran then."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from clusterctl.adapters.given_file import read_given_text
from clusterctl.model.errors import ConfigError
from clusterctl.model.installed_skew import InstalledVersion  # noqa: TC001 pydantic evaluates the annotations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

INSTALLED_FILE = "gates/installed_versions.json"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1]
    nodes: dict[str, tuple[InstalledVersion, ...]]


def installed_document(installed: Mapping[str, Sequence[InstalledVersion]]) -> dict[str, Any]:
    """As JSON values."""
    return {"schema_version": 1, "nodes": {node: [asdict(one) for one in versions] for node, versions in sorted(installed.items())}}


def read_installed(directory: Path) -> Mapping[str, Sequence[InstalledVersion]]:
    """What a run directory holds of it; nothing where the run has no such file.

    Raises:
        ConfigError: the file is damaged.
    """
    file = directory / INSTALLED_FILE
    if not file.is_file():
        return {}
    try:
        return _Document.model_validate_json(read_given_text(file)).nodes
    except (OSError, UnicodeDecodeError, ValidationError) as e:
        raise ConfigError(detail=f"{file}: damaged: {e}", hint="restore the run directory from a backup") from e
