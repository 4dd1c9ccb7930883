"""A machine of the lab in namespaces of its own: its /sys, /proc and network, in which real and simulated programs run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.roles import ROOT
from support.unpacked_tools import environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NODE = "r12-n04"
_ENTRY = ROOT / "tests" / "cross_check" / "world_entry.py"
_LAB = ROOT / "lab"
# As the lab's stub packages start the simulator. On a node, packages put the files of modules below /usr.
_SIMULATED = """import sys
sys.path.insert(0, {path!r})
from simulator import state
state.MODULES = "/run/clusterctl-lab/modules"
from simulator.{module} import main
sys.exit(main(sys.argv[1:], {version!r}))
"""
_LIMIT_S = 300


class WorldError(Exception):
    """The namespaces or the simulated machine in them could not be made. Has the reason."""


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    rc: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Everything that a caller can see of it."""
        return f"{self.stdout}{self.stderr}exit status {self.rc}\n"


@dataclass(frozen=True)
class World:
    """One simulated machine.

    Attributes:
        hardware: its kind, e.g. `hgx_h100`.
        faults: rows of the lab's file of faults.
        cmdline: the command line of its kernel.
        files: further files, path -> text.
        prepare: commands that change it before it is used.
        note: what they do, for reports.
    """

    hardware: str
    faults: tuple[Mapping[str, str], ...] = ()
    cmdline: str = "BOOT_IMAGE=/boot/vmlinuz-lab ro quiet"
    files: Mapping[str, str] = field(default_factory=dict)
    prepare: tuple[Sequence[str], ...] = ()
    note: str = ""

    @property
    def name(self) -> str:
        """For reports: the hardware and its faults."""
        return " ".join([self.hardware, *(f"{f['name']}={f['device']}" for f in self.faults), *filter(None, [self.note])])

    def run(self, commands: Sequence[Sequence[str]], **extra: str) -> list[Answer]:
        """Run commands one after the other. `extra`: further variables of their environment.

        Raises:
            WorldError: this process may not make namespaces, or the machine could not be built.
        """
        plan: dict[str, Any] = {
            "lab": str(_LAB),
            "node": NODE,
            "hardware": self.hardware,
            "faults": [dict(f) for f in self.faults],
            "cmdline": self.cmdline,
            "files": dict(self.files),
            "environment": {**environment(), "LC_ALL": "C", "TZ": "UTC", **extra},
            "commands": [list(c) for c in (*self.prepare, *commands)],
        }
        root = () if os.geteuid() == 0 else ("--map-root-user",)
        argv = ["unshare", *root, "--mount", "--uts", "--net", "--propagation", "private", sys.executable, "-IS", str(_ENTRY)]
        done = subprocess.run(argv, input=json.dumps(plan), capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        if done.returncode != 0:
            raise WorldError(done.stderr.strip()[-500:] or f"exit status {done.returncode}")
        return [Answer(**row) for row in json.loads(done.stdout)[len(self.prepare) :]]


def simulated(module: str, argv: Sequence[str], version: str = "1.0") -> list[str]:
    """The command that starts a program of the simulator as on a lab node. `argv` begins with the program's name."""
    code = _SIMULATED.format(path=str(_LAB / "clusterctl_lab"), module=module, version=version)
    return [sys.executable, "-IS", "-c", code, *argv]


def why_no_world() -> str:
    """Why no machine can be made here; empty if one can."""
    if not shutil.which("unshare"):
        return "unshare (util-linux) is not installed"
    try:
        World("hgx_h100").run([["true"]])
    except WorldError as e:
        return str(e)
    return ""
