"""A scontrol that loses answers: before it acts, or after. Its state outlives whoever calls it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# started for every call, so without site and environment of Python
_PROGRAM = """#!/usr/bin/env -S python3 -IS
import json, os, sys
folder = os.path.dirname(os.path.abspath(__file__))
def read(name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)
def write(name, data):
    with open(os.path.join(folder, name + ".new"), "w") as file:
        json.dump(data, file)
    os.replace(os.path.join(folder, name + ".new"), os.path.join(folder, name))
nodes, faults, words = read("nodes.json"), read("faults.json"), sys.argv[1:]
fault = next((f for f in faults if f["of"] in " ".join(words)), None)
if fault and fault.get("after"):
    fault["after"] -= 1
    write("faults.json", faults)
    fault = None
if fault:
    fault["times"] = fault.get("times", 1) - 1
    write("faults.json", [f for f in faults if f.get("times", 1) > 0])
if words[0] == "update" and (fault is None or fault.get("acts")):
    changes = dict(w.split("=", 1) for w in words[1:])
    if "Reason" in changes:  # scontrol takes one quote from each end (update_node.c)
        changes["Reason"] = changes["Reason"].removeprefix(chr(34)).removesuffix(chr(34))
    if changes.get("State") == "RESUME":
        nodes[changes["NodeName"]] = {"state": "IDLE", "reason": ""}
    elif changes.get("State") == "DRAIN":
        nodes[changes["NodeName"]] = {"state": "IDLE+DRAIN", "reason": changes["Reason"]}
    elif "Reason" in changes:
        nodes[changes["NodeName"]]["reason"] = changes["Reason"]
    write("nodes.json", nodes)
if fault:
    sys.exit(fault["answer"])
if "show" in words:
    for name in nodes if words[-1] == "node" else words[-1:]:
        node = nodes[name]
        reason = " Reason={} [root@2026-03-14T09:00:00]".format(node["reason"]) if node["reason"] else ""
        print("NodeName={} Arch=x86_64 State={} Partitions=gpu{}".format(name, node["state"], reason))
"""
_NO_JOBS = "#!/bin/sh\n"


class LossySlurm:
    """Files of a fake scontrol in a folder, to be put first in PATH; its nodes are out of the pool by our drain, and run no jobs."""

    def __init__(self, folder: Path, names: Sequence[str] = ("r12-n01",)) -> None:
        self._folder = folder
        if folder.exists():
            return
        folder.mkdir(parents=True)
        for name, text in (("scontrol", _PROGRAM), ("squeue", _NO_JOBS)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        self.faults(())
        (folder / "nodes.json").write_text(json.dumps({n: {"state": "IDLE+DRAIN", "reason": "clusterctl: drained"} for n in names}))

    def faults(self, faults: Sequence[dict[str, Any]]) -> None:
        """What happens to the next calls whose words contain `of`: `answer` on stderr; it `acts` before, or not;
        `times`; `after` so many calls that are answered."""
        (self._folder / "faults.json").write_text(json.dumps(list(faults)))

    def reason(self, name: str = "r12-n01") -> str:
        """Why a node is out."""
        return str(json.loads((self._folder / "nodes.json").read_text())[name]["reason"])

    def hold(self, name: str, reason: str, state: str = "IDLE+DRAIN") -> None:
        """Somebody drains a node, or slurmctld changes it; fields may follow the state."""
        nodes = json.loads((self._folder / "nodes.json").read_text())
        (self._folder / "nodes.json").write_text(json.dumps(nodes | {name: {"state": state, "reason": reason}}))

    def members(self) -> frozenset[str]:
        """The nodes on which jobs would start."""
        nodes = json.loads((self._folder / "nodes.json").read_text())
        return frozenset(name for name, node in nodes.items() if node["state"] == "IDLE")
