"""A dry run of pyinfra over the settings of a node."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import CannotMeasureError, Ran
from peer_cost import Cost, per_node
from pyinfra_operations import from_findings

from clusterctl_lab.layout import lab_node

if TYPE_CHECKING:
    from lab_site import Lab
    from node_answer import Answer

DEPLOY = Path(__file__).parent / "peers" / "pyinfra_deploy.py"
_CELL = r"(?:-|\d+(?: \([^)]*\))?)"
_ROW = re.compile(rf"^[ \t]+(\d+)[ \t]+{_CELL}[ \t]+{_CELL}[ \t]*$", re.MULTILINE)


def dry_run(lab: Lab, peers: Path, bundle: Answer) -> tuple[Cost, int]:
    """The cost, and how many settings the node has.

    Raises:
        CannotMeasureError: also where pyinfra did not take every operation on every node.
    """
    operations, settings = from_findings(bundle.findings)
    file = lab.site / "operations.json"
    file.write_text(json.dumps(operations))
    data = {"ssh_user": "root", "ssh_key": str(lab.paths.key), "ssh_known_hosts_file": str(lab.paths.known_hosts)}

    def argv(names: tuple[str, ...]) -> list[str]:
        inventory = lab.site / f"pyinfra_{len(names)}.py"
        inventory.write_text(f"hosts = {[(lab_node(n).address, data) for n in names]!r}\n")
        return [str(peers / "pyinfra"), "--dry", str(inventory), str(DEPLOY)]

    def count(ran: Ran, _names: tuple[str, ...]) -> int:
        taken = len(set(_ROW.findall(ran.out)))
        if taken != len(operations):
            raise CannotMeasureError(f"pyinfra took {taken} operations of {len(operations)}: {ran.out[-800:]}")
        return len(operations)

    env = lab.environment(peers, BENCH_OPERATIONS=str(file))
    return per_node(lab, argv, count, "operations", env=env), settings
