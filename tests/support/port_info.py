"""Recorded answers about the M_Key of a port (tests/cases/port_info), and the finding about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl_tools.port_info import own_port_argv, record_argv
from clusterctl_validators.management_key import check_management_key
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.sources import CommandResult
from support.checks import InventedNode, write_files
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clusterctl_validators.finding import Finding

FOLDER = ROOT / "tests" / "cases" / "port_info"
DEVICE, LID = "ibsim0", 6
CHECK = "infiniband.ports[ibsim0].m_key"


@dataclass(frozen=True)
class Subnet:
    """A recorded subnet, and what is found there. An empty `key`: none was configured for it, because the query did not get there."""

    name: str
    rc: int
    outcome: str
    says: str
    key: str = ""
    level: int = 0

    def answer(self, tool: str) -> CommandResult:
        """What smpquery or saquery printed there."""
        texts = [FOLDER / self.name / f"{tool}.{kind}" for kind in ("txt", "err")]
        out, err = (p.read_text(encoding="utf-8") if p.exists() else "" for p in texts)
        return CommandResult(self.rc if tool == "smpquery" else 0, out, err)


def subnets() -> list[Subnet]:
    """All recorded ones."""
    rows = load_yaml((FOLDER / "cases.yml").read_text(encoding="utf-8"))
    return [Subnet(name, **row) for name, row in rows.items()]


def finding(root: Path, own: CommandResult, record: CommandResult | None = None, lid: str = f"{LID:#x}") -> Finding:
    """The finding on a node whose port answers `own`, and whose subnet manager answers `record`. Without `lid`, nothing is written below `root`."""
    commands: Mapping[str, CommandResult | str] = {" ".join(own_port_argv(DEVICE, 1)): own} | (
        {" ".join(record_argv(DEVICE, 1, LID)): record} if record else {}
    )
    if lid:
        write_files(root, {f"/sys/class/infiniband/{DEVICE}/ports/1/lid": f"{lid}\n"})
    found = Record("infiniband")
    check_management_key(found, Probe(InventedNode(root, commands)), CHECK, DEVICE, 1)
    (only,) = found.findings
    return only
