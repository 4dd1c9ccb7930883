"""The peers, on lab nodes: what one more node costs the controller, start-up taken off by the difference of two nodes and one."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from cpu_cost import run

from clusterctl.lab.hosts_layer import ssh_args
from clusterctl.lab.layout import LabPaths, lab_node

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
CLUSTERCTL = str(Path(sys.executable).parent / "clusterctl")


@dataclass(frozen=True)
class Lab:
    """A site folder with a lab rack of two provisioned nodes; `venv`: where the peers are installed."""

    site: Path
    names: tuple[str, str]
    venv: Path

    @property
    def paths(self) -> LabPaths:
        """Where the lab keeps its keys."""
        return LabPaths(self.site / "state" / "lab")

    @property
    def layers(self) -> list[str]:
        """Inventory options for Ansible."""
        layers = (ROOT / "inventory" / "common", ROOT / "inventory" / "lab", self.paths.root / "hosts")
        return [word for layer in layers for word in ("-i", str(layer))]

    def environment(self, **more: str) -> dict[str, str]:
        """Ansible tuned: pipelining, ControlPersist (both in ansible.cfg), forks; ssh by the lab's own keys."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
        collections = Path(sys.executable).parents[1] / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        config = {
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
            "ANSIBLE_COLLECTIONS_PATH": str(collections),
            "ANSIBLE_HOME": str(self.site / "ansible"),
        }
        return kept | config | {"PATH": f"{self.venv / 'bin'}:{os.environ['PATH']}"} | more


def per_node(lab: Lab, argv_for: dict[int, list[str]], environment: dict[str, str], good: tuple[int, ...] = (0,)) -> float:
    """Controller CPU seconds of the second node. The first run is thrown away: it opens the shared connections."""
    cost = {}
    for count in (2, 1, 2):
        ran = run(argv_for[count], cwd=lab.site, env=environment)
        if ran.code not in good:
            raise RuntimeError(f"{' '.join(argv_for[count][:3])} ended with {ran.code}: {ran.out[-1500:]}")
        cost[count] = ran.cpu_s
    return cost[2] - cost[1]


def ansible_check(lab: Lab, *, mitogen: bool = False) -> float:
    """`ansible-playbook --check` of the roles of the nodes, tuned; or the same with Mitogen's strategy."""
    argv = {
        n: [
            str(lab.venv / "bin" / "ansible-playbook"),
            *lab.layers,
            "--check",
            "-f",
            "25",
            "-l",
            ",".join(lab.names[:n]),
            str(ROOT / "playbooks" / "provision.yml"),
        ]
        for n in (1, 2)
    }
    more = {}
    if mitogen:
        found = list(lab.venv.glob("lib/python3.*/site-packages/ansible_mitogen/plugins/strategy"))
        more = {"ANSIBLE_STRATEGY_PLUGINS": str(found[0]), "ANSIBLE_STRATEGY": "mitogen_linear"}
    return per_node(lab, argv, lab.environment(**more))


def testinfra(lab: Lab, backend: str) -> float:
    """A hundred checks over `ansible` or over `ssh` with a ControlPath."""
    config = lab.site / "ssh_config"
    options = "\n".join(f"  {o.partition('=')[0]} {o.partition('=')[2]}" for o in ssh_args(lab.paths).split() if "=" in o)
    config.write_text(
        "".join(
            f"Host {n}\n  HostName {lab_node(n).address}\n  User root\n  IdentityFile {lab.paths.key}\n{options}\n"
            f"  ControlMaster auto\n  ControlPath /tmp/bench-%C\n  ControlPersist 60\n"
            for n in lab.names
        )
    )
    base = [str(lab.venv / "bin" / "pytest"), "-q", "-p", "no:cacheprovider", str(PEERS / "testinfra_checks.py")]
    argv = {}
    for n in (1, 2):
        hosts = ",".join(f"{backend}://{name}" for name in lab.names[:n])
        more = ["--ssh-config", str(config)] if backend == "ssh" else ["--ansible-inventory", str(lab.paths.root / "hosts")]
        argv[n] = [*base, "--hosts", hosts, *more]
    return per_node(lab, argv, lab.environment())


def pyinfra_dry(lab: Lab) -> float:
    """A dry run of about sixty operations that find nothing to do."""
    data = {"ssh_user": "root", "ssh_key": str(lab.paths.key), "ssh_known_hosts_file": str(lab.paths.root / "known_hosts")}
    argv = {}
    for n in (1, 2):
        inventory = lab.site / f"pyinfra_{n}.py"
        hosts = [(lab_node(name).address, data) for name in lab.names[:n]]
        inventory.write_text(f"hosts = {hosts!r}\n")
        argv[n] = [str(lab.venv / "bin" / "pyinfra"), "--dry", str(inventory), str(PEERS / "pyinfra_deploy.py")]
    return per_node(lab, argv, lab.environment())


def node_cpu_s(lab: Lab) -> tuple[float, int]:
    """CPU seconds on a node for its checks, as its bundle reports them, and how many checks those were."""
    done = run([sys.executable, str(ROOT / "benchmarks" / "node_cpu.py"), str(lab.site), lab.names[0]], cwd=lab.site)
    if done.code:
        raise RuntimeError(done.out)
    said = json.loads(done.out)
    return said["cpu_s"], said["checks"]


def runner_overhead(lab: Lab) -> tuple[float, int]:
    """CPU of clusterctl's runner over the bare `ansible-playbook --check` of the same two nodes, in percent; files that the run left."""
    bare_argv = [str(Path(sys.executable).parent / "ansible-playbook"), *lab.layers, "--check", "-f", "25", "-l", ",".join(lab.names)]
    bare_argv.append(str(ROOT / "playbooks" / "provision.yml"))
    script = str(ROOT / "benchmarks" / "through_runner.py")
    bare, ours, files = [], [], 0
    for turn in range(3):
        artifacts = lab.site / f"runner-{turn}"
        shutil.rmtree(artifacts, ignore_errors=True)
        one = run(bare_argv, cwd=lab.site, env=lab.environment())
        other = run([sys.executable, script, str(lab.site), str(artifacts), *lab.names], cwd=lab.site, env=lab.environment())
        if one.code or other.code:
            raise RuntimeError((one if one.code else other).out[-1500:])
        bare.append(one.cpu_s)
        ours.append(other.cpu_s)
        files = int(other.out.split()[-1])
    return 100 * (statistics.median(ours) / statistics.median(bare) - 1), files
