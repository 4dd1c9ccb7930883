"""A container with a real sshd, from the lab's node image without systemd."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from clusterctl_lab.image import ensure_image
from clusterctl_lab.podman import podman

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_START = "mkdir -p /run/sshd && ssh-keygen -q -A && exec /usr/sbin/sshd -D -e"


@dataclass
class ContainerNode:
    """A context manager. root logs in with `key`; the host key is in `known_hosts`, both in `folder`. Like a real node it may create mount namespaces."""

    folder: Path
    name: str = f"ct-validate-{os.getpid()}"
    address: str = ""

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "key")], check=True)
        rights = ("--cap-add", "SYS_ADMIN", "--security-opt", "apparmor=unconfined")
        podman("run", "--detach", "--name", self.name, *rights, ensure_image(lambda _text: None), "/bin/sh", "-c", _START, timeout_s=300)
        self.address = podman("inspect", "--format", "{{.NetworkSettings.IPAddress}}", self.name).stdout.strip()
        self.authorize_key("root", "/root")
        self._wait_for_sshd()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        podman("rm", "--force", "--time", "0", self.name)

    def shell(self, script: str, *, check: bool = True) -> str:
        """Run a script in the container as root. Returns its output."""
        return podman("exec", self.name, "/bin/sh", "-c", script, check=check).stdout

    def authorize_key(self, user: str, home: str) -> None:
        """Authorize the key for a user."""
        key = (self.folder / "key.pub").read_text().strip()
        self.shell(f"install -d -m 700 -o {user} {home}/.ssh && echo '{key}' > {home}/.ssh/authorized_keys && chown {user} {home}/.ssh/*")

    def _wait_for_sshd(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            scan = subprocess.run(["ssh-keyscan", "-t", "ed25519", self.address], capture_output=True, text=True, check=False)
            if scan.stdout:
                key = self.shell("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub").strip()
                (self.folder / "known_hosts").write_text(f"{self.address} {key}\n")
                return
            time.sleep(0.1)
        raise TimeoutError(f"no sshd in {self.name}: {podman('logs', self.name, check=False).stderr}")

    def write_site(self, folder: Path, **variables: str) -> Path:
        """Write an inventory layer with this node as `v1-n01` in `rack_v1`."""
        folder.mkdir(parents=True, exist_ok=True)
        host_vars = {
            "ansible_host": self.address,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": f"{self.folder}/key",
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self.folder}/known_hosts",
            **variables,
        }
        lines = "".join(f"      {k}: {v}\n" for k, v in host_vars.items())
        (folder / "hosts.yml").write_text(
            f"rack_v1:\n  hosts:\n    v1-n01:\n      rack: v-1\n{lines}profile_hgx_h100_ib:\n  hosts:\n    v1-n01: {{}}\n"
        )
        return folder
