"""`burnin` and `judge` over real SSH: the playbook, the role and its agents on three nodes that measure each other over TCP."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from clusterctl import main
from clusterctl_lab.podman import podman
from support.container_node import ContainerNode
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

CUT = "for p in /proc/[0-9]*; do grep -q '^sshd: root' $p/cmdline 2>/dev/null && kill -9 ${p#/proc/}; done; true"
TOOLS = ("dcgmi", "nvbandwidth", "ib_write_bw", "ib_write_bw_cuda", "all_reduce_perf", "mpirun", "orted", "nvidia-smi", "dmesg")
SCHEMA = json.loads((ROOT / "docs" / "reference" / "schemas" / "judge.schema.json").read_text())
SETTINGS = {
    "rdma_pair": {"duration_s": 1, "timeout_s": 20, "peer_wait_s": 30},
    "rdma_pair_gpu": {"duration_s": 1, "timeout_s": 20, "peer_wait_s": 30},
    "dcgm_diag": {"timeout_s": 60},
    "nccl_node": {"timeout_s": 60},
}


@dataclass
class Rack:
    """Three nodes b1 to b3 in rack_b."""

    nodes: dict[str, ContainerNode]
    folder: Path
    state_dir: Path

    def write(self) -> list[str]:
        hosts = {
            name: {
                "ansible_host": n.address,
                "ansible_user": "root",
                "ansible_ssh_private_key_file": f"{n.folder}/key",
                "ansible_ssh_common_args": f"-o UserKnownHostsFile={n.folder}/known_hosts",
                "ansible_python_interpreter": "/usr/bin/python3",
                "rack": "b",
                "gates_settings_site": SETTINGS,
            }
            for name, n in self.nodes.items()
        }
        self.folder.mkdir(exist_ok=True)
        groups = {"rack_b": {"hosts": hosts}, "profile_hgx_h100_ib": {"hosts": {name: {} for name in hosts}}}
        (self.folder / "hosts.yml").write_text(json.dumps(groups))
        return ["-i", str(ROOT / "inventory" / "common"), "-i", str(self.folder)]

    def clusterctl(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
        code = main.call(["--state-dir", str(self.state_dir), *words, *self.write(), "-o", "json"])
        printed = capsys.readouterr()
        assert printed.out, printed.err
        data: dict[str, Any] = json.loads(printed.out)
        jsonschema.validate(data, SCHEMA)
        return code, data


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ContainerNode]]:
    running = {f"b{i}": ContainerNode(tmp_path_factory.mktemp(f"b{i}"), f"ct-burnin-{os.getpid()}-{i}") for i in (1, 2, 3)}
    started: list[ContainerNode] = []
    try:
        for one in running.values():
            started.append(one.__enter__())
            for tool in TOOLS:
                podman("cp", str(ROOT / "tests" / "support" / "fake_tools.py"), f"{one.name}:/usr/local/bin/{tool}")
                one.shell(f"chmod 755 /usr/local/bin/{tool}")
        yield running
    finally:
        for one in started:
            one.__exit__(None, None, None)


@pytest.fixture
def rack(nodes: dict[str, ContainerNode], tmp_path: Path) -> Iterator[Rack]:
    yield Rack(nodes, tmp_path / "site", tmp_path / "state")
    for one in nodes.values():
        one.shell("rm -f /etc/fake-slow /etc/fake-pause /etc/fake-remap /run/fake-load")


def bad(data: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(n["name"], r["gate"], r["device"], r["outcome"]) for n in data["nodes"] for r in n["results"] if r["outcome"] != "pass"]


def test_a_degraded_hca_is_found_and_judging_again_offline_agrees(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    rack.nodes["b2"].shell("echo 'mlx5_3 196' > /etc/fake-slow")
    code, data = rack.clusterctl(capsys, "burnin", "rack-b")
    assert code == 7
    assert bad(data) == [
        ("b2", "rdma_pair", "mlx5_3", "fail"),
        ("b2", "rdma_pair_gpu", "mlx5_3", "fail"),
        ("b2", "nccl_group", "", "could_not_run"),
    ]
    assert [n["passed"] for n in data["nodes"]] == [True, False, True]
    assert data["pair_coverage"] == {"nodes": 3, "pairs": 3, "possible_pairs": 3, "devices": 24, "known_devices": 24, "uncovered": []}
    assert all(r["simulated"] for n in data["nodes"] for r in n["results"] if r["gate"] != "nccl_group" or n["passed"])
    for one in rack.nodes.values():
        assert one.shell("ls /var/lib/clusterctl/burnin") == ""
        assert "burnin_agent" not in one.shell("cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '")
    again_code, again = rack.clusterctl(capsys, "judge", "last")
    assert (again_code, again["nodes"]) == (code, data["nodes"])


def test_what_the_load_raised_fails_a_node_that_passed_every_gate(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    rack.nodes["b3"].shell("touch /etc/fake-remap")
    code, data = rack.clusterctl(capsys, "burnin", "rack-b", "--gates", "dcgm_diag")
    assert code == 7
    assert bad(data) == [("b3", "load_errors", "GPU 00000000:12:00.0", "fail")]
    (worn,) = (r for n in data["nodes"] for r in n["results"] if r["outcome"] == "fail")
    assert (worn["metric"], worn["reason"], worn["value"], worn["limit"]) == ("row_remap_pending", "raised_by_load", 1, 0)
    again_code, again = rack.clusterctl(capsys, "judge", "last")
    assert (again_code, again["nodes"]) == (code, data["nodes"])


def test_a_node_retested_with_partners_passes_after_its_repair(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = rack.clusterctl(capsys, "burnin", "b2", "--partners", "b1,b3", "--level", "standard")
    assert bad(data) == []
    assert code == 0
    assert [n["name"] for n in data["nodes"]] == ["b2"]


def test_a_missing_tool_and_an_unreachable_node_are_distinguished(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    rack.nodes["b1"].shell("for f in $(which -a dcgmi); do test -e $f && mv $f $f.away; done; true")
    rack.nodes["b3"].shell("mv /root/.ssh/authorized_keys /root/.ssh/away; " + CUT)
    try:
        code, data = rack.clusterctl(capsys, "burnin", "rack-b", "--gates", "dcgm_diag")
    finally:
        rack.nodes["b1"].shell("for f in /usr/bin/dcgmi.away /usr/local/bin/dcgmi.away; do test -e $f && mv $f ${f%.away}; done; true")
        rack.nodes["b3"].shell("mv /root/.ssh/away /root/.ssh/authorized_keys")
    assert code == 4
    details = {n["name"]: next(r for r in n["results"] if r["gate"] == "dcgm_diag") for n in data["nodes"]}
    assert {name: r["reason"] for name, r in details.items()} == {"b1": "not_installed", "b2": None, "b3": "node_unreachable"}
    assert details["b1"]["detail"] == "dcgmi: not installed"
    assert "role gpu_tools installs it" in details["b1"]["hint"]
    assert {r["outcome"] for n in data["nodes"] for r in n["results"] if n["name"] == "b2"} == {"pass"}
    assert "node unreachable" in details["b3"]["detail"]


def test_the_measurement_survives_broken_ssh_connections(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    one = rack.nodes["b1"]
    one.shell("echo 8 > /etc/fake-pause")
    cut = threading.Event()

    def cut_connections() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and "dcgmi" not in one.shell("cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '"):
            time.sleep(0.1)
        one.shell(CUT)
        cut.set()

    thread = threading.Thread(target=cut_connections)
    thread.start()
    code, data = rack.clusterctl(capsys, "burnin", "rack-b", "--gates", "dcgm_diag")
    thread.join()
    assert cut.is_set()
    assert bad(data) == []
    assert code == 0


REBOOT = (
    "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -qE 'burnin_agent.py ru[n]|dcgmi dia[g]' && kill -9 ${p#/proc/}; done; "
    "for f in /var/lib/clusterctl/burnin/*/boot_id; do echo before > $f; done; "
)


def test_a_node_that_reboots_in_the_middle_fails_and_its_neighbours_do_not(rack: Rack, capsys: pytest.CaptureFixture[str]) -> None:
    one = rack.nodes["b1"]
    one.shell("echo 20 > /etc/fake-pause")

    def reboot() -> None:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and "dcgmi diag" not in one.shell("cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '"):
            time.sleep(0.1)
        one.shell(REBOOT + CUT)

    thread = threading.Thread(target=reboot)
    thread.start()
    code, data = rack.clusterctl(capsys, "burnin", "rack-b", "--gates", "dcgm_diag")
    thread.join()
    assert code == 7
    assert bad(data) == [("b1", "dcgm_diag", "", "fail"), ("b1", "load_errors", "", "fail")]
    assert {r["reason"] for n in data["nodes"] for r in n["results"] if r["outcome"] == "fail"} == {"rebooted"}
    assert one.shell("ls /var/lib/clusterctl/burnin") == ""


def test_the_role_changes_nothing_in_check_mode(rack: Rack, tmp_path: Path) -> None:
    variables = {"burnin_plan_dir": str(tmp_path), "burnin_records_dir": str(tmp_path), "burnin_run": "x"}
    argv = ["ansible-playbook", *rack.write(), str(ROOT / "playbooks" / "burnin.yml"), "--check", "-e", json.dumps(variables)]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=0" in done.stdout
    assert "changed=1" not in done.stdout
