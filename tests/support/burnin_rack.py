"""Containers as the nodes of a burn-in: real SSH, with programs that answer as those of a healthy node."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jsonschema

from clusterctl import main
from clusterctl_lab.podman import podman
from support.container_node import ContainerNode
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

TOOLS = (
    "dcgmi",
    "nvbandwidth",
    "ubergemm",
    "gpu_burn",
    "ib_write_bw",
    "ib_write_bw_cuda",
    "all_reduce_perf",
    "mpirun",
    "orted",
    "nvidia-smi",
    "dmesg",
)
SCHEMA = json.loads((ROOT / "docs" / "reference" / "schemas" / "judge.schema.json").read_text())
SETTINGS = {
    "rdma_pair": {"duration_s": 1, "timeout_s": 20, "peer_wait_s": 30},
    "rdma_pair_gpu": {"duration_s": 1, "timeout_s": 20, "peer_wait_s": 30},
    "dcgm_diag": {"timeout_s": 60},
    "nccl_node": {"timeout_s": 60},
    "gpu_stress": {"program": "ubergemm", "duration_s": 2, "start_s": 1, "trace_s": 0.3, "timeout_s": 60},
    "gpu_results": {"duration_s": 2, "end_s": 1, "timeout_s": 60},
    "nvbandwidth": {"pcie_links": False},  # containers show the devices of their host, which are not GPUs
}


@dataclass
class BurninRack:
    """Nodes b1, b2 ... of group rack_b.

    Attributes:
        settings: of gates, besides SETTINGS.
        per_rack: nodes that stand in one rack; 0 = all in rack b.
    """

    nodes: dict[str, ContainerNode]
    folder: Path
    state_dir: Path
    settings: dict[str, Any] = field(default_factory=dict)
    per_rack: int = 0

    @property
    def url(self) -> str:
        """The database."""
        return f"sqlite:///{self.state_dir}/clusterctl.db"

    def write(self) -> list[str]:
        """Write the inventory; returns the options that name it."""
        hosts = {
            name: {
                "ansible_host": n.address,
                "ansible_user": "root",
                "ansible_ssh_private_key_file": f"{n.folder}/key",
                "ansible_ssh_common_args": f"-o UserKnownHostsFile={n.folder}/known_hosts",
                "ansible_python_interpreter": "/usr/bin/python3",
                "rack": f"b{i // self.per_rack}" if self.per_rack else "b",
                "gates_settings_site": SETTINGS | self.settings,
            }
            for i, (name, n) in enumerate(self.nodes.items())
        }
        self.folder.mkdir(exist_ok=True)
        groups = {"rack_b": {"hosts": hosts}, "profile_hgx_h100_ib": {"hosts": {name: {} for name in hosts}}}
        (self.folder / "hosts.yml").write_text(json.dumps(groups))
        return ["-i", str(ROOT / "inventory" / "common"), "-i", str(self.folder)]

    def clusterctl(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
        """Exit code and results of `burnin` or `judge`."""
        code = main.call(["--state-dir", str(self.state_dir), *words, *self.write(), "-o", "json"])
        printed = capsys.readouterr()
        assert printed.out, printed.err
        data: dict[str, Any] = json.loads(printed.out)
        jsonschema.validate(data, SCHEMA)
        return code, data


@contextmanager
def burnin_nodes(folder: Path, count: int = 3) -> Iterator[dict[str, ContainerNode]]:
    """Nodes b1, b2 ... with all tools, started two at a time."""
    made = {f"b{i}": ContainerNode(folder / f"b{i}", f"ct-burnin-{os.getpid()}-{i}") for i in range(1, count + 1)}
    with ExitStack() as running:
        for one in made.values():
            running.push(one)
        with ThreadPoolExecutor(2) as starts:
            list(starts.map(_start, made.values()))
        yield made


def _start(one: ContainerNode) -> None:
    one.__enter__()
    podman("cp", str(ROOT / "tests" / "support" / "fake_tools.py"), f"{one.name}:/usr/local/bin/{TOOLS[0]}")
    others = " ".join(f"/usr/local/bin/{tool}" for tool in TOOLS[1:])
    one.shell(f"cd /usr/local/bin && chmod 755 {TOOLS[0]} && for tool in {others}; do cp {TOOLS[0]} $tool; done")
