"""Nodes that do not answer correctly, and interrupted runs, on lab nodes."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.exit_codes import ExitCode
from support.demo_rack import CLUSTERCTL, DemoRack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

ROLE = ("--roles", "nccl", "--all-roles")  # a short, real apply
# Of a role that runs from the controller, so that a killed one leaves Ansible on its own machine; test_apply_on_node.py has the nodes.
FROM_CONTROLLER = ("--roles", "bios", "--all-roles", "--no-reboot")


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    made = DemoRack(tmp_path_factory.mktemp("site"), 95)
    made.write_site()
    try:
        made.lab_up("--nodes", "2")
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


def podman(*words: str) -> None:
    subprocess.run(["podman", *words], check=True, capture_output=True, timeout=60)


def wait_until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.1)


def ansible_processes(rack: DemoRack) -> list[str]:
    text = subprocess.run(["pgrep", "-af", f"ansible-playbook.*{rack.site}"], check=False, capture_output=True, text=True).stdout
    return text.splitlines()


def test_an_unreachable_node_is_reported_and_keeps_its_state(rack: DemoRack) -> None:
    off = rack.node(2)
    podman("pause", off)
    try:
        done = rack.clusterctl("provision", off, "--yes", "-o", "json")
    finally:
        podman("unpause", off)
    assert done.code == ExitCode.UNREACHABLE
    node = done.json["nodes"][0]
    assert (node["state"], node["touched"]) == ("registered", False)
    assert node["reasons"][0]["hint"]
    assert "Traceback" not in done.err


def test_a_changed_host_key_is_refused(rack: DemoRack) -> None:
    known = rack.state_dir / "lab" / "known_hosts"
    before = known.read_text()
    lines = before.splitlines()
    first, second = (line.split(" ", 1) for line in lines[:2])
    known.write_text(f"{first[0]} {second[1]}\n{second[0]} {first[1]}\n")
    try:
        validated = rack.clusterctl("provision", rack.node(1), "--yes", "-o", "json")
        forced = rack.clusterctl("provision", rack.node(1), "--yes", "--all-roles", "-o", "json")
    finally:
        known.write_text(before)
    for done in (validated, forced):
        assert done.code == ExitCode.UNREACHABLE
        assert "host key changed" in done.json["nodes"][0]["reason"]
        assert "known_hosts" in done.json["nodes"][0]["reasons"][0]["hint"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_run_stops_ansible_is_recorded_and_can_be_resumed(rack: DemoRack, number: signal.Signals) -> None:
    child = start(rack)
    try:
        wait_until(lambda: bool(ansible_processes(rack)))
        child.send_signal(number)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == ExitCode.INTERRUPTED, err
    assert "--resume" in err
    assert "Traceback" not in err
    wait_until(lambda: not ansible_processes(rack), 10)
    status = rack.ok("status", rack.node(1), "-o", "json").json["nodes"][0]
    assert status["state"] == "provisioning"
    assert "interrupted during apply" in status["reason"]
    assert status["held_by"] is None


def test_after_kill_9_no_node_is_admitted_ansible_has_ended_and_the_run_can_be_resumed(rack: DemoRack) -> None:
    child = start(rack, *FROM_CONTROLLER)
    try:
        wait_until(lambda: bool(ansible_processes(rack)))
    finally:
        child.kill()
        child.communicate()
    wait_until(lambda: not ansible_processes(rack), 20)
    status = rack.ok("status", rack.target, "-o", "json").json
    assert status["nodes"][0]["state"] == "provisioning"
    assert len(status["unfinished_runs"]) == 1
    dead = status["unfinished_runs"][0]["id"]
    resumed = rack.clusterctl("provision", "--resume", dead, "--yes", "-o", "json")
    assert f"run {dead} of ada was killed" in resumed.err
    assert [n["name"] for n in resumed.json["nodes"]] == [rack.node(1)]
    assert rack.ok("status", rack.target, "-o", "json").json["unfinished_runs"] == []


def test_a_second_operator_is_refused_on_a_node_in_use(rack: DemoRack) -> None:
    child = start(rack, *FROM_CONTROLLER)
    try:
        wait_until(lambda: bool(ansible_processes(rack)))
        second = rack.clusterctl("provision", rack.target, "--yes")
        assert second.code == ExitCode.CONFIG
        assert f"{rack.node(1)} is held by ada" in second.err
        assert "hint:" in second.err
        assert second.out == ""
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)


def test_a_full_disk_is_reported_and_no_node_is_admitted(rack: DemoRack) -> None:
    runs = rack.state_dir / "runs"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", str(runs)], check=True)
    try:
        done = rack.clusterctl("provision", rack.node(1), "--yes", *ROLE)
    finally:
        subprocess.run(["umount", str(runs)], check=True)
    assert done.code == ExitCode.UNEXPECTED
    assert "No space left on device" in done.err
    assert "hint: free space" in done.err
    assert "Traceback" not in done.err
    status = rack.ok("status", rack.node(1), "-o", "json").json["nodes"][0]
    assert status["state"] == "provisioning"
    assert status["held_by"] is None
    assert ansible_processes(rack) == []


def start(rack: DemoRack, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [CLUSTERCTL, "provision", rack.node(1), "--yes", "--retest", *words],
        cwd=rack.site,
        env=rack.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
