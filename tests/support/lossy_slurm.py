"""A scontrol of one node that loses answers: before it acts, or after."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
node = json.loads((folder / "node.json").read_text())
faults = json.loads((folder / "faults.json").read_text())
words = sys.argv[1:]
fault = next((f for f in faults if f["of"] in " ".join(words)), None)
if fault and fault.get("after"):
    fault["after"] -= 1
    (folder / "faults.json").write_text(json.dumps(faults))
    fault = None
if fault:
    fault["times"] = fault.get("times", 1) - 1
    (folder / "faults.json").write_text(json.dumps([f for f in faults if f.get("times", 1) > 0]))
if words[0] == "update" and (fault is None or fault.get("acts")):
    changes = dict(w.split("=", 1) for w in words[2:])
    if changes.get("State") == "RESUME":
        node = {"state": "IDLE", "reason": ""}
    elif changes.get("State") == "DRAIN":
        node = {"state": "IDLE+DRAIN", "reason": changes["Reason"]}
    (folder / "node.json").write_text(json.dumps(node))
if fault:
    sys.exit(fault["answer"])
if "show" in words:
    reason = " Reason={} [root@2026-03-14T09:00:00]".format(node["reason"]) if node["reason"] else ""
    print("NodeName=r12-n01 Arch=x86_64 State={} Partitions=gpu{}".format(node["state"], reason))
"""


class LossySlurm:
    """Files of a fake scontrol in a folder, to be put first in PATH."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        (folder / "scontrol").write_text(_PROGRAM)
        (folder / "scontrol").chmod(0o755)
        self.faults(())
        (folder / "node.json").write_text(json.dumps({"state": "IDLE+DRAIN", "reason": "clusterctl: drained"}))

    def faults(self, faults: Sequence[dict[str, Any]]) -> None:
        """What happens to the next calls whose words contain `of`: `answer` on stderr; it `acts` before, or not;
        `times`; `after` so many calls that are answered."""
        (self._folder / "faults.json").write_text(json.dumps(list(faults)))

    def takes_jobs(self) -> bool:
        """Whether jobs would start."""
        return bool(json.loads((self._folder / "node.json").read_text())["state"] == "IDLE")
