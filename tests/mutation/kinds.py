"""The lab nodes that are tested, as data: tests/cases/mutation/nodes/KIND.yml."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict

from mutation.rules import CASES

if TYPE_CHECKING:
    from pathlib import Path


class Kind(BaseModel):
    """What is declared of a node besides the profile of the lab.

    Attributes:
        groups: profiles that it is in, too.
        vars: variables of the node, over all profiles.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: tuple[str, ...]
    vars: dict[str, Any]

    def write_layer(self, node: str, path: Path) -> Path:
        """An inventory layer that declares it of `node`."""
        children: dict[str, Any] = {group: {"hosts": {node: {}}} for group in self.groups}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"all": {"hosts": {node: self.vars}, "children": children}}))
        return path


def kinds() -> dict[str, Kind]:
    """All kinds of nodes, by name."""
    files = sorted((CASES / "nodes").glob("*.yml"))
    return {f.stem: Kind.model_validate(yaml.safe_load(f.read_text(encoding="utf-8"))) for f in files}
