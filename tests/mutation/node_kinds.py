"""The kinds of lab nodes to test, as data: tests/cases/mutation/nodes/KIND.yml."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from mutation.rules import CASES
from support.certificates import Certificates
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from support.demo_rack import DemoRack


class NodeKind(BaseModel):
    """The declarations of a node in addition to the lab's profile.

    Attributes:
        groups: additional groups of the node.
        vars: variables of the node, which override its profiles.
        prepare: shell commands on each new node, which make it what the site's image would be.
        hardware: simulated hardware, as for `clusterctl lab up --hardware`.
        nodes: number of nodes in the rack, all with the same declarations. Only the first is changed; the others are its partners in burn-in.
        together: findings of a node depend on the others, so all are validated together.
        imex_tls: the members of its NVLink domain authenticate each other, with certificates made for this test.
        like: another kind; settings that it has with the same expected value are not tested again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: tuple[str, ...]
    vars: dict[str, Any]
    prepare: str = ""
    hardware: str = "hgx_h100"
    nodes: int = 2
    together: bool = False
    imex_tls: bool = False
    like: str = ""

    def write_layer(self, rack: DemoRack, path: Path) -> Path:
        """Write an inventory layer with these declarations for the nodes of `rack`."""
        names = [rack.node(slot) for slot in range(1, self.nodes + 1)]
        children: dict[str, Any] = {group: {"hosts": {name: {} for name in names}} for group in self.groups}
        path.parent.mkdir(parents=True, exist_ok=True)
        declared = self.vars | (_imex_tls(rack.site / "certificates") if self.imex_tls else {})
        path.write_text(json.dumps({"all": {"hosts": dict.fromkeys(names, declared), "children": children}}))
        return path


def _imex_tls(folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificates(folder)
    made.authority()
    made.tray("tray", days=90)
    return {"nvlink_domain_imex_tls": made.imex_tls(certificate="tray", key="tray", authority="ca")}


def load_kinds() -> dict[str, NodeKind]:
    """All kinds of nodes by name. A kind that others refer to with `like` comes before them."""
    files = (CASES / "nodes").glob("*.yml")
    found = {f.stem: NodeKind.model_validate(load_yaml(f.read_text(encoding="utf-8"))) for f in files}
    return dict(sorted(found.items(), key=lambda item: (bool(item[1].like), item[0])))
