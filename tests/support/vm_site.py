"""A site folder for the acceptance VM; runs clusterctl and ansible-playbook on it as a user does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.demo_rack import CLUSTERCTL, FinishedCommand
from support.roles import ROOT

if TYPE_CHECKING:
    from support.vm import Vm

NODE = "vm-n01"
_GOOD = ("pass", "not_applicable")


@dataclass(frozen=True)
class PlaybookRun:
    """One run of a playbook; `changed` is -1 if it did not reach the node."""

    ok: bool
    changed: int
    output: str


@dataclass
class VmSite:
    """The VM as the only node of a rack.

    Attributes:
        declared: variables of the node that override its profile.
    """

    folder: Path
    vm: Vm
    declared: dict[str, Any] = field(default_factory=dict)

    @property
    def layers(self) -> tuple[Path, ...]:
        return ROOT / "inventory" / "common", ROOT / "tests" / "acceptance" / "inventory", self.folder / "hosts"

    def declare(self, **variables: Any) -> None:
        """Add variables; they replace earlier ones with the same names."""
        self.declared |= variables
        (self.folder / "hosts").mkdir(parents=True, exist_ok=True)
        host_vars = {
            "ansible_host": "127.0.0.1",
            "ansible_port": self.vm.port,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.vm.key),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self.vm.known_hosts}",
            "rack": "vm",
            **self.declared,
        }
        (self.folder / "hosts" / "hosts.json").write_text(json.dumps({"rack_vm": {"hosts": {NODE: host_vars}}}))
        layers = ", ".join(str(layer) for layer in self.layers)
        (self.folder / "clusterctl.yml").write_text(f"inventory: [{layers}]\nstate_dir: state\noperator: ada\n")

    def clusterctl(self, *words: str, timeout_s: float = 1200) -> FinishedCommand:
        began = time.monotonic()
        done = self._run([CLUSTERCTL, *words], self.folder, timeout_s)
        return FinishedCommand(done.returncode, done.stdout, done.stderr, time.monotonic() - began)

    def play(self, playbook: str, *words: str, timeout_s: float = 900) -> PlaybookRun:
        """Run a playbook of the tree with ansible-playbook."""
        layers = [word for layer in self.layers for word in ("-i", str(layer))]
        done = self._run(["ansible-playbook", *layers, f"playbooks/{playbook}", "-l", NODE, *words], ROOT, timeout_s)
        recap = re.search(rf"^{NODE} .*\bchanged=(\d+)", done.stdout, re.MULTILINE)
        return PlaybookRun(done.returncode == 0, int(recap.group(1)) if recap else -1, done.stdout + done.stderr)

    def findings(self) -> dict[str, dict[str, str]]:
        """The findings of `clusterctl validate` by check; fails if it did not reach the node."""
        done = self.clusterctl("validate", NODE, "-o", "json")
        assert done.code in {0, 6}, f"{done.code}\n{done.out}\n{done.err}"
        (node,) = done.json["nodes"]
        assert node["status"] == "ok", node
        found: dict[str, dict[str, str]] = {f["check"]: f for f in node["findings"]}
        assert (done.code == 0) == all(f["outcome"] in _GOOD for f in found.values())
        return found

    def faults(self) -> dict[str, str]:
        """The findings that differ from the declared state: `{check: found, or why it could not run}`."""
        return {check: f["found"] or f["reason"] for check, f in self.findings().items() if f["outcome"] not in _GOOD}

    def reboot(self, *words: str) -> None:
        """Run playbooks/reboot.yml; it checks with clusterctl that the node is drained, unless `words` disable that."""
        before = self.vm.boot_id()
        played = self.play("reboot.yml", "-e", "reboot_timeout_s=300", *words)
        assert played.ok, played.output
        self.vm.wait_for_ssh()
        assert self.vm.boot_id() != before

    def _run(self, argv: list[str], folder: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERCTL_", "ANSIBLE_")) or k == "ANSIBLE_HOME"}
        env = kept | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CLUSTERCTL_STATE_DIR": str(self.folder / "state"),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
        }
        return subprocess.run(
            argv, cwd=folder, env=env, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s
        )


@dataclass(frozen=True)
class Provisioned:
    """The result of `clusterctl provision` on the new machine.

    Attributes:
        faults_before: findings that differed from the declared state before.
        modules_before: kernel modules that were loaded before.
    """

    faults_before: dict[str, str]
    modules_before: tuple[str, ...]
    swaps_before: str
    boot_before: str
    boot_after: str
    done: FinishedCommand
