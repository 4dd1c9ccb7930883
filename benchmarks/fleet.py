"""The cost of the controller alone: `clusterctl drift` on a fleet of nodes on loopback that replay recorded answers.

    python benchmarks/fleet.py [--nodes 1000] [--answer FILE] [--keep DIR]

The nodes are SSH servers in separate processes, whose CPU time is counted separately.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncssh
from cpu_cost import CannotMeasureError, require_success, run_command
from replay_server import address

from clusterctl.adapters.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
COMMON = ROOT / "inventory" / "common"
RECORDED_FINDINGS = ROOT / "benchmarks" / "recorded" / "lab_node_findings.json"
CLUSTERCTL = str(Path(sys.executable).parent / "clusterctl")
_SERVERS = 2
_RACK = 36


@dataclass(frozen=True)
class FleetCost:
    """The cost of one drift run on a fleet.

    Attributes:
        cpu_s: user and system time of `clusterctl drift` and its children, from start to exit.
        rss_mib: peak memory of the largest process.
        servers_cpu_s: CPU time of the replaying nodes.
        stored: number of findings that the store returns afterwards.
    """

    nodes: int
    checks: int
    exit_code: int
    cpu_s: float
    wall_s: float
    rss_mib: float
    servers_cpu_s: float
    stored: int
    database_mib: float


def measure_fleet(nodes: int, answer: Path, folder: Path, lifetime_s: float) -> FleetCost:
    """Start `nodes` replaying nodes, run `clusterctl drift all` on them and stop them."""
    site = Site(folder, nodes, answer)
    site.write()
    with site.servers(lifetime_s) as servers:
        layers = ["-i", str(COMMON), "-i", str(site.layer)]
        command = [CLUSTERCTL, "--state-dir", str(site.folder / "state"), "drift", "all", *layers, "-o", "json"]
        ran = run_command(command, cwd=folder)
    if not ran.out.startswith("{"):
        raise CannotMeasureError(f"clusterctl drift ended with {ran.code}: {ran.output[-500:]}")
    document = json.loads(ran.out)
    return FleetCost(
        nodes=nodes,
        checks=len(json.loads(answer.read_text())),
        exit_code=ran.code,
        cpu_s=ran.cpu_s,
        wall_s=ran.wall_s,
        rss_mib=ran.rss_mib,
        servers_cpu_s=sum(servers),
        stored=_stored(site, document["run_id"]),
        database_mib=sum(f.stat().st_size for f in (site.folder / "state").glob("clusterctl.db*")) / 2**20,
    )


def floor_cpu_s(nodes: int, answer: Path, folder: Path) -> dict[str, float]:
    """CPU seconds of a bare SSH exchange with `nodes` nodes, and the size of the smallest answer in bytes (ssh_floor.py)."""
    site = Site(folder, nodes, answer)
    site.write()
    with site.servers(60 + nodes / 5):
        words = {"first": 0, "count": nodes, "port": site.port, "key": folder / "user_key"}
        argv = [sys.executable, str(Path(__file__).parent / "ssh_floor.py"), *(f"--{k}={v}" for k, v in words.items())]
        ran = require_success(run_command(argv), "ssh_floor.py")
    result: dict[str, float] = json.loads(ran.out)
    return result


def _stored(site: Site, run_id: str) -> int:
    """The number of findings that the store returns for the run."""
    with Store.open(f"sqlite:///{site.folder}/state/clusterctl.db") as store:
        found = [store.findings(record.name, run_id) for record in store.nodes()]
        return sum(len(f.findings) for f in found if f)


@dataclass(frozen=True)
class Site:
    """Keys, inventory and servers of a fleet."""

    folder: Path
    nodes: int
    answer: Path
    per_rack: int = _RACK

    @property
    def layer(self) -> Path:
        """The inventory layer."""
        return self.folder / "site"

    @property
    def port(self) -> int:
        """The port of every node."""
        return int((self.folder / "port").read_text())

    def write(self) -> None:
        """Write keys, known_hosts with a line per node, and the inventory layer."""
        self.layer.mkdir(parents=True)
        for name in ("host_key", "user_key"):
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(self.folder / name)
            key.write_public_key(self.folder / f"{name}.pub")
        with socket.socket() as probe:
            probe.bind((address(0), 0))
            (self.folder / "port").write_text(str(probe.getsockname()[1]))
        public = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        known = "".join(f"[{address(n)}]:{self.port} {public}\n" for n in range(self.nodes))
        (self.folder / "known_hosts").write_text(known)
        (self.layer / "hosts.json").write_text(json.dumps(self._inventory()))

    def _inventory(self) -> dict[str, Any]:
        roles = list(dict.fromkeys(f["role"] for f in json.loads(self.answer.read_text())))
        login = {
            "ansible_port": self.port,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.folder / "user_key"),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self.folder}/known_hosts -o IdentitiesOnly=yes",
            "node_roles": roles,
        }
        racks: dict[str, Any] = {}
        for n in range(self.nodes):
            rack = f"rack_{n // self.per_rack:03d}"
            hosts = racks.setdefault(rack, {"vars": {"rack": rack.replace("_", "-")}, "hosts": {}})["hosts"]
            slot = n % self.per_rack + 1
            hosts[f"r{n // self.per_rack:03d}-n{slot:02d}"] = {"ansible_host": address(n), "rack_slot": slot}
        variables = self.layer / "group_vars" / "replayed.json"
        variables.parent.mkdir()
        variables.write_text(json.dumps(login))
        return {"profile_hgx_h100_ib": {"children": {"replayed": {"children": racks}}}}

    @contextmanager
    def servers(self, lifetime_s: float) -> Iterator[list[float]]:
        """Run the nodes during the `with` block. Afterwards the list has the CPU seconds of their processes."""
        cpu_s: list[float] = []
        share = -(-self.nodes // _SERVERS)
        parts = [(first, min(share, self.nodes - first)) for first in range(0, self.nodes, share)]
        started = [self._server(first, count, lifetime_s) for first, count in parts]
        try:
            for server in started:
                if server.stdout is None or server.stdout.readline() != "ready\n":
                    raise RuntimeError("a replay server did not start")
            yield cpu_s
        finally:
            for server in started:
                out, _ = server.communicate(timeout=30)
                if server.returncode == 0:
                    cpu_s.append(json.loads(out)["cpu_s"])

    def _server(self, first: int, count: int, lifetime_s: float) -> subprocess.Popen[str]:
        words = {"first": first, "count": count, "port": self.port, "keys": self.folder, "answer": self.answer, "lifetime": lifetime_s}
        argv = [sys.executable, str(Path(__file__).parent / "replay_server.py"), *(f"--{k}={v}" for k, v in words.items())]
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main() -> int:
    """Measure one fleet and print the cost as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--answer", type=Path, default=RECORDED_FINDINGS)
    parser.add_argument("--lifetime", type=float, default=1200.0, help="seconds after which the servers end")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        cost = measure_fleet(args.nodes, args.answer, Path(folder) / "fleet", args.lifetime)
    print(json.dumps(asdict(cost), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
