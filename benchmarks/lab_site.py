"""Two provisioned lab nodes for a benchmark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import CannotMeasureError

from clusterctl_lab.inventory_layer import ssh_args
from clusterctl_lab.layout import LabPaths, lab_node, lab_rack

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CLUSTERCTL = str(Path(sys.executable).parent / "clusterctl")


@dataclass(frozen=True)
class Lab:
    """A site folder with a lab rack of two provisioned nodes."""

    site: Path
    names: tuple[str, str]

    @property
    def paths(self) -> LabPaths:
        """The files of the lab."""
        return LabPaths(self.site / "state" / "lab")

    @property
    def run_dir(self) -> Path:
        """The run directory of the last `provision`."""
        return max((self.site / "state" / "runs").glob("*-provision-*"))

    @property
    def layers(self) -> list[str]:
        """Inventory options for Ansible."""
        layers = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab", self.paths.hosts_dir)
        return [word for layer in layers for word in ("-i", str(layer))]

    def environment(self, first_on_path: Path | None = None, **more: str) -> dict[str, str]:
        """The environment for Ansible: this checkout's roles and ansible.cfg (pipelining, ControlPersist), without the caller's settings."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ANSIBLE_", "CLUSTERCTL_", "MOLECULE_"))}
        collections = Path(sys.executable).parents[1] / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        config = {
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
            "ANSIBLE_COLLECTIONS_PATH": str(collections),
            "ANSIBLE_HOME": str(self.site / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
        path = f"{first_on_path}:{os.environ['PATH']}" if first_on_path else os.environ["PATH"]
        return kept | config | {"PATH": path} | more

    def ssh_config(self) -> Path:
        """Write an ssh configuration with a shared connection for each node, by name and by address."""
        options = "\n".join(f"  {o.partition('=')[0]} {o.partition('=')[2]}" for o in ssh_args(self.paths).split() if "=" in o)
        sections = [
            f"Host {n} {lab_node(n).address}\n  HostName {lab_node(n).address}\n  User root\n  IdentityFile {self.paths.key}\n{options}\n"
            f"  ControlMaster auto\n  ControlPath {self.sockets}/%C\n  ControlPersist 60\n"
            for n in self.names
        ]
        file = self.site / "ssh_config"
        file.write_text("".join(sections))
        return file

    @property
    def sockets(self) -> Path:
        """The folder for sockets of shared connections; socket paths must be short."""
        folder = self.site / "cp"
        folder.mkdir(exist_ok=True)
        return folder


@contextmanager
def running_lab(folder: Path, rack: int) -> Iterator[Lab]:
    """Run a lab in `folder` during the `with` block. One that a killed run left there is removed first, with its records.

    Raises:
        CannotMeasureError: the lab does not start, or its nodes cannot be provisioned.
    """
    names = tuple(n.name for n in lab_rack(f"rack-{rack}", 2).nodes)
    folder.mkdir(parents=True, exist_ok=True)
    layers = f"['@common', {ROOT / 'inventory' / 'lab'}, {folder / 'state' / 'lab' / 'hosts'}]"
    (folder / "clusterctl.yml").write_text(f"inventory: {layers}\nstate_dir: state\noperator: bench\n")
    one = Lab(folder, (names[0], names[1]))
    if (folder / "state").exists():
        _clusterctl(one, "lab", "down", f"rack-{rack}")
        shutil.rmtree(folder / "state")
    try:
        for words in (
            ["lab", "up", f"rack-{rack}", "--nodes", "2", "--healthy"],
            ["provision", ",".join(names), "--level", "quick", "--yes"],
        ):
            _clusterctl(one, *words)
        yield one
    finally:
        _clusterctl(one, "lab", "down", f"rack-{rack}")


def _clusterctl(one: Lab, *words: str) -> None:
    """Run clusterctl without measuring it: a measured command terminates the processes that it leaves running, such as a lab's nodes."""
    done = subprocess.run([CLUSTERCTL, *words], cwd=one.site, env=one.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        output = " ".join((done.stdout + done.stderr)[-900:].split())
        raise CannotMeasureError(f"clusterctl {words[0]} ended with {done.returncode}: {output}")
