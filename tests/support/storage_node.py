"""A container node with systemd, sshd and the host's /dev/fuse, and a local apt repository with packages downloaded by the host's apt."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.validators import validate
from clusterctl.model.findings import NodeStatus
from clusterctl_lab.image import ensure_image
from clusterctl_lab.podman import podman
from clusterctl_validators.finding import GOOD
from support.container_node import ContainerNode
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMMON = ROOT / "inventory" / "common"
_POOL = "/opt/storage"
_BOOT_S = 60
_SECURITY = [f"--security-opt={word}" for word in ("seccomp=unconfined", "apparmor=unconfined", "label=disable", "unmask=ALL")]
_RUN = (
    *("run", "--detach", "--device=/dev/fuse", "--systemd=always", "--stop-signal=SIGRTMIN+3", "--stop-timeout=5", *_SECURITY),
    *("--cap-add=ALL", "--cap-drop=SYS_TIME,SYS_MODULE,SYS_RAWIO,SYSLOG,MAC_ADMIN,WAKE_ALARM"),
)


@dataclass(frozen=True)
class RoleRun:
    """One run of the role."""

    ok: bool
    changed: int
    output: str


class StorageNode(ContainerNode):
    """A ContainerNode that is booted by systemd. Only the role storage_client is declared."""

    def __enter__(self) -> Self:
        self.name = f"ct-storage-{os.getpid()}"
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "key")], check=True)
        podman(*_RUN, "--name", self.name, ensure_image(lambda _text: None), "/sbin/init", timeout_s=300)
        self._wait_for_boot()
        self.authorize_key("root", "/root")
        self.shell("ssh-keygen -q -A && systemctl reset-failed ssh && systemctl start ssh")
        self._wait_for_ssh()
        return self

    def restart(self) -> None:
        """Stop all processes, and boot again with the same disk."""
        podman("restart", "--time", "5", self.name)
        self._wait_for_boot()
        self._wait_for_ssh()

    def offer(self, packages: Sequence[Path]) -> dict[str, str]:
        """Add packages to the node's apt sources. Returns `{name: version}`."""
        self.shell(f"mkdir -p {_POOL}; echo 'deb [trusted=yes] file://{_POOL} ./' > /etc/apt/sources.list.d/storage.list")
        index, versions = "", {}
        for file in packages:
            self.copy(file, f"{_POOL}/{file.name}")
            control = subprocess.run(["dpkg-deb", "--field", str(file)], capture_output=True, text=True, check=True).stdout
            fields = dict(line.split(": ", 1) for line in control.splitlines() if ": " in line and not line.startswith(" "))
            versions[fields["Package"]] = fields["Version"]
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            index += f"{control.strip()}\nFilename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {digest}\n\n"
        (self.folder / "Packages").write_text(index)
        self.copy(self.folder / "Packages", f"{_POOL}/Packages")
        return versions

    def copy(self, file: Path, path: str) -> None:
        """Copy a file of this machine to the node."""
        podman("cp", str(file), f"{self.name}:{path}")

    def apply(self, *words: str, **variables: Any) -> RoleRun:
        """Run playbooks/provision.yml for this node."""
        playbook = [str(ROOT / "playbooks" / "provision.yml"), "-l", "v1-n01", "--diff", *words]
        argv = [sys.executable, "-m", "ansible", "playbook", "-i", str(COMMON), "-i", str(self._site(variables)), *playbook]
        env = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
        recap = [line for line in done.stdout.splitlines() if line.startswith("v1-n01 ") and "changed=" in line]
        changed = int(recap[-1].partition("changed=")[2].split()[0]) if recap else -1
        return RoleRun(done.returncode == 0, changed, done.stdout + done.stderr)

    def faults(self, state_dir: Path, **variables: Any) -> dict[str, str]:
        """The findings that differ from the declared state: `{check without the role: found}`."""
        layers = [COMMON, self._site(variables)]
        (result,) = validate(load_nodes(layers, "rack-v1"), state_dir, inventory=layers)
        assert result.status is NodeStatus.OK, result
        assert result.findings
        bad = [f for f in result.findings if f.outcome not in GOOD]
        return {f.check.removeprefix("storage_client."): f.found or f.reason for f in bad}

    def _site(self, variables: dict[str, Any]) -> Path:
        host_vars = {key: json.dumps(value) for key, value in variables.items()}
        return self.write_site(self.folder / "site", node_roles="[storage_client]", **host_vars)

    def _wait_for_ssh(self) -> None:
        self.address = podman("inspect", "--format", "{{.NetworkSettings.IPAddress}}", self.name).stdout.strip()
        self._wait_for_sshd()

    def _wait_for_boot(self) -> None:
        deadline = time.monotonic() + _BOOT_S
        state = ""
        while time.monotonic() < deadline:
            state = podman("exec", self.name, "systemctl", "is-system-running", check=False).stdout.strip()
            if state in {"running", "degraded"}:
                return
            time.sleep(0.2)
        raise TimeoutError(f"{self.name} is {state or 'silent'} after {_BOOT_S} s")
