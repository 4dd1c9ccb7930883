"""`burnin` and `judge` over real SSH: the playbook, the role and its agents on three nodes that measure each other over TCP."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from support.burnin_rack import BurninRack
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.container_node import ContainerNode

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

CUT = "for p in /proc/[0-9]*; do grep -q '^sshd: root' $p/cmdline 2>/dev/null && kill -9 ${p#/proc/}; done; true"


@pytest.fixture
def rack(burnin_containers: dict[str, ContainerNode], tmp_path: Path) -> Iterator[BurninRack]:
    yield BurninRack(burnin_containers, tmp_path / "site", tmp_path / "state")
    for one in burnin_containers.values():
        one.shell("rm -f /etc/fake-slow /etc/fake-pause /etc/fake-remap /run/fake-load")


def bad(data: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(n["name"], r["gate"], r["device"], r["outcome"]) for n in data["nodes"] for r in n["results"] if r["outcome"] != "pass"]


def commands(node: ContainerNode) -> str:
    return node.shell("cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '")


def test_a_degraded_hca_is_found_and_judging_again_offline_agrees(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
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
        assert "burnin_agent" not in commands(one)
    again_code, again = rack.clusterctl(capsys, "judge", "last")
    assert (again_code, again["nodes"]) == (code, data["nodes"])


def test_what_the_load_raised_fails_a_node_that_passed_every_gate(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
    rack.nodes["b3"].shell("touch /etc/fake-remap")
    code, data = rack.clusterctl(capsys, "burnin", "rack-b", "--gates", "dcgm_diag")
    assert code == 7
    assert bad(data) == [("b3", "load_errors", "GPU 00000000:12:00.0", "fail")]
    (worn,) = (r for n in data["nodes"] for r in n["results"] if r["outcome"] == "fail")
    assert (worn["metric"], worn["reason"], worn["value"], worn["limit"]) == ("row_remap_pending", "raised_by_load", 1, 0)
    again_code, again = rack.clusterctl(capsys, "judge", "last")
    assert (again_code, again["nodes"]) == (code, data["nodes"])


def test_a_node_retested_with_partners_passes_after_its_repair(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = rack.clusterctl(capsys, "burnin", "b2", "--partners", "b1,b3", "--level", "standard")
    assert bad(data) == []
    assert code == 0
    assert [n["name"] for n in data["nodes"]] == ["b2"]


def test_a_missing_tool_and_an_unreachable_node_are_distinguished(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_the_measurement_survives_broken_ssh_connections(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
    """Whenever they break: what a repeated attempt does twice fails the node only at some moments, so there are several."""
    one = rack.nodes["b1"]
    one.shell("echo 8 > /etc/fake-pause")
    during, over = threading.Event(), threading.Event()

    def cut_connections() -> None:
        while not over.wait(3):
            measures = "dcgmi diag" in commands(one)
            one.shell(CUT)
            if measures:
                during.set()

    thread = threading.Thread(target=cut_connections)
    thread.start()
    code, data = rack.clusterctl(capsys, "burnin", "rack-b", "--gates", "dcgm_diag")
    over.set()
    thread.join()
    assert during.is_set()
    assert bad(data) == []
    assert code == 0


# The boot first: an agent that is gone in the same boot was killed.
REBOOT = (
    "for f in /var/lib/clusterctl/burnin/*/boot_id; do echo before > $f; done; "
    "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -qE 'burnin_agent.py ru[n]|dcgmi dia[g]' && kill -9 ${p#/proc/}; done; "
)


def test_a_node_that_reboots_in_the_middle_fails_and_its_neighbours_do_not(rack: BurninRack, capsys: pytest.CaptureFixture[str]) -> None:
    one = rack.nodes["b1"]
    one.shell("echo 20 > /etc/fake-pause")

    def reboot() -> None:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and "dcgmi diag" not in commands(one):
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


def test_the_role_changes_nothing_in_check_mode(rack: BurninRack, tmp_path: Path) -> None:
    variables = {"burnin_plan_dir": str(tmp_path), "burnin_records_dir": str(tmp_path), "burnin_run": "x"}
    argv = ["ansible-playbook", *rack.write(), str(ROOT / "playbooks" / "burnin.yml"), "--check", "-e", json.dumps(variables)]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=0" in done.stdout
    assert "changed=1" not in done.stdout
