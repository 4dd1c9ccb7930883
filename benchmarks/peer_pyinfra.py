"""A dry run of pyinfra with the settings of a node."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import CannotMeasureError, FinishedCommand
from peer_cost import PeerCost, cost_per_node
from pyinfra_operations import operations_from_findings

from clusterctl_lab.layout import lab_node

if TYPE_CHECKING:
    from lab_site import Lab
    from node_answer import NodeAnswer

DEPLOY = Path(__file__).parent / "peers" / "pyinfra_deploy.py"
_CELL = r"(?:-|\d+(?: \([^)]*\))?)"
_ROW = re.compile(rf"^[ \t]+(\d+)[ \t]+{_CELL}[ \t]+{_CELL}[ \t]*$", re.MULTILINE)


def dry_run(lab: Lab, peers: Path, bundle: NodeAnswer) -> tuple[PeerCost, int]:
    """The cost, and the number of settings of the node.

    Raises:
        CannotMeasureError: a run failed, or pyinfra did not run all operations.
    """
    operations, settings = operations_from_findings(bundle.findings)
    file = lab.site / "operations.json"
    file.write_text(json.dumps(operations))
    data = {"ssh_user": "root", "ssh_key": str(lab.paths.key), "ssh_known_hosts_file": str(lab.paths.known_hosts)}

    def argv(names: tuple[str, ...]) -> list[str]:
        inventory = lab.site / f"pyinfra_{len(names)}.py"
        inventory.write_text(f"hosts = {[(lab_node(n).address, data) for n in names]!r}\n")
        return [str(peers / "pyinfra"), "--dry", str(inventory), str(DEPLOY)]

    def count(ran: FinishedCommand, _names: tuple[str, ...]) -> int:
        listed = len(set(_ROW.findall(ran.output)))
        if listed != len(operations):
            raise CannotMeasureError(f"pyinfra ran {listed} of {len(operations)} operations: {ran.output[-800:]}")
        return len(operations)

    env = lab.environment(peers, BENCH_OPERATIONS=str(file))
    return cost_per_node(lab, argv, count, "operations", env=env), settings
