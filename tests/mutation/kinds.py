"""The lab nodes that are tested, as data: tests/cases/mutation/nodes/KIND.yml."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict

from mutation.rules import CASES

if TYPE_CHECKING:
    from pathlib import Path

    from support.demo_rack import DemoRack


class Kind(BaseModel):
    """What is declared of a node besides the profile of the lab.

    Attributes:
        groups: profiles that it is in, too.
        vars: variables of the node, over all profiles.
        hardware: what it stands for, as `clusterctl lab up --hardware` takes it.
        nodes: of its rack, all declared alike; only the first is changed. With a partner to measure with they must be admitted.
        together: what one of them says hangs on all of them, so all are asked.
        like: another kind; a setting that is there with the same expectation is not changed again here.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: tuple[str, ...]
    vars: dict[str, Any]
    hardware: str = "hgx_h100"
    nodes: int = 2
    together: bool = False
    like: str = ""

    def write_layer(self, rack: DemoRack, path: Path) -> Path:
        """An inventory layer that declares it of the nodes of `rack`."""
        names = [rack.node(slot) for slot in range(1, self.nodes + 1)]
        children: dict[str, Any] = {group: {"hosts": {name: {} for name in names}} for group in self.groups}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"all": {"hosts": dict.fromkeys(names, self.vars), "children": children}}))
        return path


def kinds() -> dict[str, Kind]:
    """All kinds of nodes by name, those that others are like before them."""
    files = (CASES / "nodes").glob("*.yml")
    found = {f.stem: Kind.model_validate(yaml.safe_load(f.read_text(encoding="utf-8"))) for f in files}
    return dict(sorted(found.items(), key=lambda item: (bool(item[1].like), item[0])))
