"""A measurement counts only if nobody else computed on the node: before it, and while it ran."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.model.gate_reason import GateReason
from support.agents import FILES, AgentNode, address_of, group_of, program, step, until
from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

exclusive_use = program("exclusive_use")
HOLD = "import sys, time; held = open(sys.argv[1]); print(flush=True); time.sleep(60)"
PYTHON = os.path.realpath(sys.executable).rpartition("/")[2]


@pytest.fixture
def device(tmp_path: Path) -> str:
    file = tmp_path / "nvidia-uvm"
    file.touch()
    return str(file)


@pytest.fixture
def hold(device: str) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a process that computes on the GPUs."""
    made: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        made.append(subprocess.Popen([sys.executable, "-c", HOLD, device], stdout=subprocess.PIPE))
        assert made[-1].stdout is not None
        made[-1].stdout.readline()
        return made[-1]

    yield start
    for process in made:
        process.kill()
        process.wait()


def rules(device: str, **more: Any) -> dict[str, Any]:
    return {"exclusive_use": {"devices": [device], "services": [], "jobs": r"^slurmstepd: \[", **more}}


def test_a_node_in_use_is_not_measured(tmp_path: Path, device: str, hold: Callable[[], subprocess.Popen[bytes]]) -> None:
    pid = hold().pid
    steps = [step("s", ["touch", "ran"], exclusive=True), step("snapshot", ["true"], batch=1)]
    node = AgentNode(tmp_path, "n1", free_port(), steps, **rules(device))
    found = node.start().end()
    assert found["s"].error == f"not alone on the node: pid {pid} ({PYTHON}) computes on the GPUs"
    assert (found["s"].error_code, found["s"].exit_status) == (GateReason.IN_USE, None)
    assert not (node.folder / "ran").exists()
    assert found["snapshot"].exit_status == 0


def test_a_process_that_starts_in_the_middle_spoils_the_measurement(
    tmp_path: Path, device: str, hold: Callable[[], subprocess.Popen[bytes]]
) -> None:
    steps = [step("s", ["sh", "-c", "touch runs; sleep 3; echo 42"], exclusive=True), step("next", ["true"], batch=1, exclusive=True)]
    node = AgentNode(tmp_path, "n1", free_port(), steps, **rules(device)).start()
    until((node.folder / "runs").exists)
    other = hold()
    until(lambda: "s" in node.records)
    other.kill()
    found = node.end()["s"]
    assert (found.error_code, found.exit_status, found.stdout) == (GateReason.IN_USE, None, "42\n")
    assert f"pid {other.pid} ({PYTHON}) computes on the GPUs" in found.error


def test_what_the_run_itself_starts_is_not_foreign(tmp_path: Path, device: str) -> None:
    argv = ["sh", "-c", f'exec 3<"{device}"; sleep 2']
    found = AgentNode(tmp_path, "n1", free_port(), [step("s", argv, exclusive=True)], **rules(device)).start().end()["s"]
    assert (found.error, found.exit_status) == ("", 0)


@pytest.mark.parametrize(("variable", "code"), [("CLUSTERCTL_BURNIN_LOCK", None), ("NO_MARK_OF_THE_RUN", GateReason.IN_USE)])
def test_what_a_container_runtime_starts_for_the_run_is_not_foreign(
    tmp_path: Path, device: str, variable: str, code: GateReason | None
) -> None:
    """The runtime is a service of the node: not a descendant of the run, which would be the run's own whatever its environment is."""
    argv = ["sh", "-c", 'echo "$CLUSTERCTL_BURNIN_LOCK" > new; mv new mark; while [ ! -e held ]; do sleep 0.05; done; sleep 1']
    node = AgentNode(tmp_path, "n1", free_port(), [step("s", argv, exclusive=True)], **rules(device)).start()
    until((node.folder / "mark").exists)
    held = f'exec 3<"{device}"; touch held; while [ ! -e over ]; do sleep 0.05; done'
    environment = {"PATH": os.environ["PATH"], variable: (node.folder / "mark").read_text().strip()}
    container = subprocess.Popen(["sh", "-c", held], cwd=node.folder, env=environment)
    found = node.end()["s"]
    (node.folder / "over").touch()
    container.wait(20)
    assert found.error_code == code, found.error


def test_processes_of_another_run_are_foreign(tmp_path: Path) -> None:
    folder = proc(tmp_path, (20, 1, "all_reduce_perf", "all_reduce_perf"))
    (folder / "20" / "fd" / "3").symlink_to("/dev/nvidia-uvm")
    (folder / "20" / "environ").write_bytes(b"A=1\0CLUSTERCTL_BURNIN_LOCK=o2:/run/lock\0")
    assert watch(folder).foreign(0.0, []) == "pid 20 (all_reduce_perf) computes on the GPUs"
    (folder / "20" / "environ").write_bytes(b"A=1\0CLUSTERCTL_BURNIN_LOCK=o1:/run/lock\0")
    assert watch(folder).foreign(0.0, []) == ""


def test_without_looks_in_between_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exclusive_use, "LOOK_S", 0.01)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    watched = watch(proc(tmp_path, (20, 1, "train", "train x")))
    found: list[Exception | list[Any]] = [RuntimeError("can't read"), []]

    def processes() -> list[Any]:
        answer = found.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(watched, "_processes", processes)
    watched.start()
    watched.thread.join()
    with pytest.raises(exclusive_use.WatchEndedError):
        watched.foreign(0.0, [])


@pytest.mark.parametrize(("services", "shared"), [([PYTHON], []), ([], [PYTHON])])
def test_programs_that_may_run_beside_a_measurement(
    tmp_path: Path, device: str, hold: Callable[[], subprocess.Popen[bytes]], services: list[str], shared: list[str]
) -> None:
    hold()
    steps = [step("s", ["true"], exclusive=True, shares_with=shared)]
    found = AgentNode(tmp_path, "n1", free_port(), steps, **rules(device, services=services)).start().end()["s"]
    assert (found.error, found.exit_status) == ("", 0)


def proc(folder: Path, *processes: tuple[int, int, str, str], flags: int = 0x400100) -> Path:
    """A /proc; the programs' files are the tester's own."""
    for pid, parent, name, title in processes:
        (folder / str(pid) / "fd").mkdir(parents=True)
        (folder / str(pid) / "cmdline").write_bytes(title.replace(" ", "\0").encode())
        (folder / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0 -1 {flags} 0 0")
        (folder / "programs").mkdir(exist_ok=True)
        (folder / "programs" / name).touch(mode=0o755)
        (folder / str(pid) / "exe").symlink_to(folder / "programs" / name)
    return folder


def watch(folder: Path, device: str = "/dev/nvidia-uvm") -> Any:
    return exclusive_use.Watch(rules(device)["exclusive_use"], "o1:/run/lock", folder, own=10)


def test_a_job_is_seen_and_the_holder_of_a_cgroup_is_none(tmp_path: Path) -> None:
    holder, job = (50, 1, "slurmstepd", "/usr/sbin/slurmstepd infinity"), (60, 1, "slurmstepd", "slurmstepd: [4711.batch]")
    assert watch(proc(tmp_path / "a", holder)).foreign(0.0, []) == ""
    assert watch(proc(tmp_path / "b", holder, job)).foreign(0.0, []) == "pid 60 (slurmstepd) runs a job on this node"


def test_children_of_a_daemon_count_only_where_the_gate_does_not_work_through_it(tmp_path: Path) -> None:
    folder = proc(tmp_path, (20, 1, "nv-hostengine", "nv-hostengine -n"), (21, 20, "nvvs", "nvvs --config x"))
    (folder / "21" / "fd" / "3").symlink_to("/dev/nvidia-uvm")
    assert watch(folder).foreign(0.0, ["nv-hostengine"]) == ""
    assert watch(folder).foreign(0.0, []) == "pid 21 (nvvs) computes on the GPUs"


def uses_a_gpu(folder: Path, pid: int) -> Path:
    (folder / str(pid) / "fd" / "3").symlink_to("/dev/nvidia-uvm")
    return folder


def test_a_process_that_blanked_its_command_line_is_seen_and_a_kernel_thread_is_none(tmp_path: Path) -> None:
    blank = uses_a_gpu(proc(tmp_path / "a", (20, 1, "train", "")), 20)
    assert watch(blank).foreign(0.0, []) == "pid 20 (train) computes on the GPUs"
    kernel = uses_a_gpu(proc(tmp_path / "b", (21, 2, "nv_queue", ""), flags=0x208040), 21)
    assert watch(kernel).foreign(0.0, []) == ""


def test_a_program_of_a_tenant_is_no_service_by_its_name(tmp_path: Path) -> None:
    folder = uses_a_gpu(proc(tmp_path, (20, 1, "nv-hostengine", "nv-hostengine -n")), 20)
    watched = watch(folder)
    watched.rules["services"] = ["nv-hostengine"]
    assert watched.foreign(0.0, []) == ""
    (folder / "programs" / "nv-hostengine").chmod(0o775)
    assert watch(folder).foreign(0.0, ["nv-hostengine"]) == "pid 20 (nv-hostengine) computes on the GPUs"
    (folder / "20" / "exe").unlink()
    assert watch(folder).foreign(0.0, ["nv-hostengine"]) == "pid 20 (nv-hostengine) computes on the GPUs"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_title_of_a_tenant_is_no_job(tmp_path: Path) -> None:
    def sees(user: int) -> str:
        with subprocess.Popen(["slurmstepd: [4711.batch]", "60"], executable=shutil.which("sleep"), user=user) as job:
            try:
                until(lambda: b"4711" in Path(f"/proc/{job.pid}/cmdline").read_bytes())
                watched = exclusive_use.Watch(rules("/dev/nvidia-uvm")["exclusive_use"], "o1:/run/lock", own=job.pid + 1)
                return str(watched.foreign(0.0, [])).replace(str(job.pid), "PID")
            finally:
                job.kill()

    assert sees(user=0) == "pid PID (sleep) runs a job on this node"
    assert sees(user=65534) == ""


def test_many_are_counted(tmp_path: Path) -> None:
    folder = proc(tmp_path, *((pid, 1, "train", "train x") for pid in range(20, 25)))
    for pid in range(20, 25):
        (folder / str(pid) / "fd" / "3").symlink_to("/dev/nvidia-uvm")
    assert watch(folder).foreign(0.0, []).endswith(" and 2 more")


def test_what_ended_before_the_step_does_not_count(tmp_path: Path) -> None:
    folder = proc(tmp_path, (20, 1, "train", "train x"))
    (folder / "20" / "fd" / "3").symlink_to("/dev/nvidia-uvm")
    watched = watch(folder)
    watched.look()
    (folder / "20" / "fd" / "3").unlink()
    time.sleep(exclusive_use.FRESH_S + 0.1)
    assert watched.foreign(time.monotonic(), []) == ""


def test_a_group_does_not_start_where_a_member_is_locked_by_another_run(tmp_path: Path) -> None:
    one, two = group_of(tmp_path, 2, [sys.executable, "-c", ""], os.environ, daemon="true", peer_wait_s=2)
    argv = [
        sys.executable,
        "-c",
        "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(flush=True); time.sleep(60)",
    ]
    with subprocess.Popen([*argv, str(tmp_path / "n2.lock")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        one.start()
        two.start()
        assert two.end()["member"].error_code is GateReason.NODE_BUSY
        launched = one.end()["group"]
        holder.kill()
    assert (launched.error_code, launched.attempts) == (GateReason.PEER_SILENT, 0)
    assert f"n2 never answered at {address_of('n2')}" in launched.error


def test_python_3_8() -> None:
    ast.parse((FILES / "exclusive_use.py").read_text(encoding="utf-8"), feature_version=(3, 8))
