"""Commands on lab nodes over SSH, with the settings of the lab's inventory layer."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl_lab.inventory_layer import ssh_args
from clusterctl_lab.layout import LabPaths, lab_node

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class LabSsh:
    """Runs scripts as root: `ssh(node, script)`. Host keys are checked."""

    state_dir: Path

    @property
    def paths(self) -> LabPaths:
        return LabPaths(self.state_dir / "lab")

    def argv(self, node: str, script: str) -> list[str]:
        options = [*ssh_args(self.paths).split(), "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-i", str(self.paths.key)]
        return ["ssh", *options, f"root@{lab_node(node).address}", script]

    def __call__(self, node: str, script: str, *, check: bool = True) -> str:
        done = self.run(node, script)
        assert not check or done.returncode == 0, f"{node}: {script}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def run(self, node: str, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(node, script), capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)

    def boot_id(self, node: str) -> str:
        return self(node, "cat /proc/sys/kernel/random/boot_id", check=False)

    def wait_for_reboot(self, node: str, before: str, timeout_s: float = 90) -> None:
        """Wait until the node has another boot id and has started its units."""
        deadline = time.monotonic() + timeout_s
        while (now := self.boot_id(node)) in ("", before):
            assert time.monotonic() < deadline, f"{node} did not come back within {timeout_s} s (boot id {now!r})"
            time.sleep(0.2)
        self(node, "systemctl is-system-running --wait", check=False)
