"""What storage_throughput.py prints on the nodes of a group, for tests; and the program itself, as if each process were a node."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.subject import subject_of
from clusterctl.model.level import LEVELS
from clusterctl.model.node import NodeSpec
from clusterctl_tools import storage_throughput
from clusterctl_tools.storage_throughput import StorageLoad, storage_argv
from support.gates import TODAY, gates, node, record
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord

SCRIPT = ROOT / "roles" / "burnin" / "files" / storage_throughput.PROGRAM
GIB = 1 << 30
PATH = "/mnt/scratch"
MOUNT = {"name": "scratch", "kind": "nfs", "source": "nas1:/scratch", "path": PATH, "options": ["vers=4.2", "hard"]}
ASKS = 10
# What keeps a run short.
LOAD = StorageLoad(folder="burn/in", files=2, file_mib=4, small_files=20, asks=3, phase_s=10, limit_s=100)
PHASES: dict[str, dict[str, Any]] = {
    "write": {"bytes": 2 * GIB, "asked_bytes": 2 * GIB, "duration_s": 2.0},
    "read": {"bytes": 2 * GIB, "asked_bytes": 2 * GIB, "duration_s": 1.0, "direct": True, "wrong": 0, "wrong_first": []},
    "other_read": {"bytes": GIB, "asked_bytes": GIB, "duration_s": 0.5, "direct": True, "wrong": 0, "wrong_first": []},
    "small_files": {"created": 1000, "create_s": 2.0, "stated": 1000, "stat_s": 0.5, "removed": 1000, "remove_s": 1.0},
    "flock": {"kind": "flock", "held": True, "while_held": "refused", "when_free": "granted"},
    "fcntl": {"kind": "fcntl", "held": True, "while_held": "refused", "when_free": "granted"},
    "seen": {"asked": ASKS, "round_trips_s": [0.04] * ASKS},
}


def storage_output(index: int, count: int, other: Mapping[str, Any] | None = None, *, cut: int | None = None) -> str:
    """All lines of a node. `other`: phase -> what differs in it; `error` replaces the phase, None leaves it out. `cut`: only so many lines."""
    changes = dict(other or {})
    head = {"schema_version": 1, "mount": PATH, "fstype": "nfs4", "source": "nas1:/scratch", "index": index, "count": count}
    lines = [{**head, **changes.pop("head", {})}]
    for name, values in PHASES.items():
        own = changes.pop(name, {})
        phase = "lock" if name in storage_throughput.LOCK_KINDS else name
        if own is not None:
            lines.append({"phase": phase, **(own if "error" in own else {**values, **own})})
    if error := changes.pop("lock_error", None):
        lines.append({"phase": "lock", **error})
    problem = changes.pop("problem", None)
    lines.append({"phase": "end", "removed": []} if problem is None else problem)
    assert not changes
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines[:cut])


def storage_records(names: Sequence[str], outputs: Mapping[str, str] | None = None, **changed: Mapping[str, Any]) -> list[RawRecord]:
    """The records of a group; `outputs`: node -> its own text, `changed`: node -> fields of its record."""
    records = []
    for number, name in enumerate(names):
        first = number == 0
        text = (outputs or {}).get(name, storage_output(number, len(names)))
        more: dict[str, Any] = {
            "step": "group@nas1:/scratch" if first else "member@nas1:/scratch",
            "tool": "storage_throughput",
            "device": PATH,
            "peers": tuple(names) if first else (),
            "peer": "" if first else names[0],
            "argv": tuple(storage_argv(PATH, "nas1:/scratch", number, len(names), LOAD)),
        }
        records.append(record("storage_throughput", name, text, **{**more, **changed.get(name, {})}))
    return records


def storage_subject(
    name: str,
    *,
    mounts: Sequence[Mapping[str, Any]] = (MOUNT,),
    mounts_: Sequence[str] = (),
    baselines: Sequence[Mapping[str, Any]] = (),
    **settings: Any,
) -> Subject:
    """A node with these mounts; `mounts_` is the setting of the gate."""
    declared = gates(
        gates_levels={level: ["storage_throughput"] for level in LEVELS},
        gates_baselines=[dict(b) for b in baselines],
        gates_settings={"storage_throughput": {"mounts": list(mounts_), **settings}},
    )
    one = node(name, declared=declared)
    roles = {**one.spec.roles, "storage_client": {"storage_client_mounts": [dict(m) for m in mounts]}}
    return subject_of(replace(one, spec=NodeSpec(roles, one.spec.gates, (), "sha256:0")), TODAY)


_TWICE = {kind: {"while_held": "granted", "when_free": "refused"} for kind in storage_throughput.LOCK_KINDS}
_WRONG = {"wrong": 3, "wrong_first": [[0, 3], [0, 4], [1, 7]]}
_ERROR = {"error": "EIO", "detail": "Input/output error"}
STORAGE_PAIR = tuple(storage_subject(name) for name in ("n1", "n2"))
# A node that reads other content and shares nothing rightly, one whose file system returns errors, one that did not come to its end.
BAD_STORAGE = [
    storage_output(0, 2, {"read": _WRONG, **_TWICE, "seen": {"round_trips_s": [9.5] * 10}}),
    storage_output(0, 2, {"write": _ERROR, "read": None, "other_read": _ERROR, "small_files": _ERROR, "seen": _ERROR}),
    storage_output(0, 2, cut=5),
    storage_output(1, 3, _TWICE),
]


def storage_pair_records(text: str) -> list[RawRecord]:
    """The records of the pair, with a text from the first node."""
    return storage_records(("n1", "n2"), {"n1": text})


def mount_table(tmp_path: Path, *folders: Path) -> Path:
    """A list of mounts that has folders of this machine as mounts."""
    lines = []
    for folder in folders:
        opened = os.open(folder, os.O_RDONLY)
        info = Path(f"/proc/self/fdinfo/{opened}").read_text(encoding="ascii")
        os.close(opened)
        number = re.search(r"mnt_id:\s*(\d+)", info)
        assert number
        lines.append(f"{number.group(1)} 1 0:40 / {folder} rw,relatime shared:1 - nfs4 nas1:/scratch rw,vers=4.2\n")
    (tmp_path / "mountinfo").write_text("".join(lines), encoding="utf-8")
    return tmp_path / "mountinfo"


class StorageNode:
    """A process of the program in a folder of its own, with the plan that the agent of a node would have there."""

    def __init__(
        self, tmp_path: Path, mount: Path, index: int, count: int, load: StorageLoad = LOAD, patch: str = "", run: str = "r1"
    ) -> None:
        self.folder = tmp_path / f"node{index}"
        self.folder.mkdir(exist_ok=True)
        (self.folder / "plan.json").write_text(json.dumps({"run": run, "node": f"n{index}", "token": "5e" * 32}))
        argv = list(storage_argv(str(mount), "nas1:/scratch", index, count, load))[2:]
        table = tmp_path / "mountinfo"
        code = f"import sys; from pathlib import Path; sys.path.insert(0, {str(SCRIPT.parent)!r}); import storage_throughput as script\n{patch}\nsys.exit(script.main({argv!r}, Path({str(table)!r})))"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def end(self, seconds: float = 60) -> tuple[int, str]:
        """Exit status and output."""
        out, err = self.process.communicate(timeout=seconds)
        assert "Traceback" not in err, err
        return self.process.returncode, out
