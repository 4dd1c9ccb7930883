"""A lab rack for one test module, and clusterctl commands on it, run as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.leftover_lab import leftover_state_dirs
from support.roles import ROOT

CLUSTERCTL = str(Path(sys.executable).parent / "clusterctl")


@dataclass(frozen=True)
class FinishedCommand:
    """A command that ended."""

    code: int
    out: str
    err: str
    wall_s: float

    @property
    def json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.out)
        return data


@dataclass
class DemoRack:
    """A rack with its own site folder.

    Attributes:
        number: number of the rack, which determines its names, network and addresses.
        extra: additional environment variables for all commands.
    """

    site: Path
    number: int
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return f"rack-{self.number}"

    @property
    def state_dir(self) -> Path:
        return self.site / "state"

    def node(self, slot: int) -> str:
        return f"r{self.number}-n{slot:02d}"

    def write_site(self, *more_layers: str) -> None:
        layers = ["'@common'", str(ROOT / "inventory" / "lab"), str(self.state_dir / "lab" / "hosts"), *more_layers]
        self.site.mkdir(parents=True, exist_ok=True)
        # tests break the same nodes again and again, and would make lemons of them
        limits = "lemon_limits: {exclusions: 0, repairs: 0, repeated_repairs: 0, suspicions: 0, collisions: 0, link_flap_days: 0, unplanned_boots: 0}"
        (self.site / "clusterctl.yml").write_text(f"inventory: [{', '.join(layers)}]\nstate_dir: state\noperator: ada\n{limits}\n")

    def environment(self) -> dict[str, str]:
        """The environment after activating the virtual environment, without the user's own settings."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERCTL_", "ANSIBLE_"))}
        return kept | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"} | self.extra

    def run(self, *words: str, **environment: str) -> FinishedCommand:
        began = time.monotonic()
        done = subprocess.run(
            words, cwd=self.site, env=self.environment() | environment, check=False, capture_output=True, text=True, timeout=900
        )
        return FinishedCommand(done.returncode, done.stdout, done.stderr, time.monotonic() - began)

    def clusterctl(self, *words: str, timeout_s: float = 1800) -> FinishedCommand:
        began = time.monotonic()
        done = subprocess.run(
            [CLUSTERCTL, *words],
            cwd=self.site,
            env=self.environment(),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
        return FinishedCommand(done.returncode, done.stdout, done.stderr, time.monotonic() - began)

    def ok(self, *words: str) -> FinishedCommand:
        done = self.clusterctl(*words)
        assert done.code == 0, f"clusterctl {' '.join(words)}: {done.code}\n{done.out}\n{done.err}"
        return done

    def lab_up(self, *options: str) -> FinishedCommand:
        """`lab up`, after the nodes of the same rack that a killed test run left were removed."""
        for state_dir in leftover_state_dirs(self.target):
            self.ok("--state-dir", str(state_dir), "lab", "down", self.target)
        return self.ok("lab", "up", self.target, *options)

    def states(self) -> dict[str, str]:
        return {n["name"]: n["state"] for n in self.ok("status", self.target, "-o", "json").json["nodes"]}


def host_kernel_settings() -> dict[str, str]:
    """The host's vm.* and kernel.* settings, without those that change by themselves."""
    volatile = {
        "kernel.ns_last_pid",
        "kernel.pty.nr",
        "kernel.random.entropy_avail",
        "kernel.random.uuid",
        "kernel.perf_event_max_sample_rate",
    }
    text = subprocess.run(["sysctl", "-a"], check=True, capture_output=True, text=True).stdout
    pairs = (line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    return {k: v for k, v in pairs if k.startswith(("vm.", "kernel.")) and k not in volatile}
