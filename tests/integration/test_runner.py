"""The playbook runner with real ansible-playbook processes and local connections."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ansible.runner import HostStatus, PlaybookRequest, PlaybookResult, PlaybookStatus, run_playbook
from clusterctl.model.errors import ConfigError, StoreError
from clusterctl.model.task_event import TaskEvent, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "planted-s3cr3t-9137"
VAULT_PASSWORD = "vault-pass-4711"
PLAYBOOK = """
- name: Play
  hosts: all
  gather_facts: false
  tasks:
    - name: Show the secret
      ansible.builtin.debug: {var: bmc_password}
    - name: Look at the environment
      ansible.builtin.command: env
      changed_when: false
      register: environ
    - name: Show the environment
      ansible.builtin.debug: {var: environ.stdout_lines}
    - name: Ask for a reboot
      ansible.builtin.set_fact: {kernel_reboot_required: true}
    - name: Fail on the second node
      ansible.builtin.fail: {msg: no good}
      when: inventory_hostname == 'n2'
    - name: Nap
      ansible.builtin.command: sleep {{ nap_s }}
      changed_when: true
"""

HIDDEN = """
    - name: Fail with the secret in the message
      ansible.builtin.fail: {msg: "login with {{ bmc_password }} failed"}
      no_log: true
      ignore_errors: true
      loop: [1, 2]
    - name: Fail in one step
      ansible.builtin.fail: {msg: "login with {{ bmc_password }} failed"}
      no_log: true
      ignore_errors: true
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))  # a module that is killed cannot remove what it unpacked
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    hosts = "".join(f"    n{i}: {{}}\n" for i in (1, 2, 3))
    (tmp_path / "hosts.yml").write_text(
        f"all:\n  vars:\n    ansible_connection: local\n    ansible_python_interpreter: /usr/bin/python3\n    nap_s: 0\n  hosts:\n{hosts}"
    )
    return tmp_path


def run(site: Path, *nodes: str, on_event: Callable[[TaskEvent], None] | None = None, **more: object) -> PlaybookResult:
    request = PlaybookRequest(str(site / "play.yml"), (site / "hosts.yml",), nodes, **more)  # type: ignore[arg-type]
    return run_playbook(request, site / "artifacts", on_event)


def test_each_node_has_its_own_outcome(site: Path) -> None:
    outcome = run(site, "n1", "n2", "typo")
    assert outcome.status is PlaybookStatus.COMPLETED
    assert {n: h.status for n, h in outcome.hosts.items()} == {
        "n1": HostStatus.OK,
        "n2": HostStatus.FAILED,
        "typo": HostStatus.NOT_PROCESSED,
    }
    assert outcome.hosts["n2"].failures[0].message == "no good"
    assert outcome.hosts["n1"].reboot_required == ("kernel",)
    assert outcome.changed == 1
    assert f"--limit n1,n2,typo --forks 25 {site}/play.yml" in outcome.command_line


def test_the_record_is_small_and_contains_no_secret(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", f"environment-{VAULT_PASSWORD}")
    password = site / "vault-password"
    password.write_text(VAULT_PASSWORD)
    vaulted = subprocess.run(
        [sys.executable, "-m", "ansible", "vault", "encrypt_string", "--vault-password-file", password, SECRET, "--name", "bmc_password"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    (site / "group_vars").mkdir()
    (site / "group_vars" / "all.yml").write_text(vaulted)
    (site / "play.yml").write_text(PLAYBOOK + HIDDEN)
    outcome = run(site, "n1", extra_args=("--vault-password-file", str(password)), verbosity=3)
    assert outcome.hosts["n1"].status is HostStatus.OK
    files = [p for p in (site / "artifacts").rglob("*") if p.is_file()]
    assert {p.name for p in files} == {"ansible.log", "events.jsonl"}
    text = "".join(p.read_text() for p in files)
    assert "Show the secret" in text
    assert text.count("...ignoring") == 2
    assert SECRET not in text
    assert VAULT_PASSWORD not in text
    assert "PLANTED_TOKEN" not in text


def test_a_run_removes_its_private_folder(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = site / "memory"
    memory.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(memory))
    run(site, "n1")
    assert list(memory.iterdir()) == []


def test_the_folder_of_a_killed_run_is_removed_and_that_of_an_active_run_is_not(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = site / "memory"
    for name in ("clusterctl-run-dead", "clusterctl-run-live", "somebody-elses"):
        (memory / name).mkdir(parents=True)
        (memory / name / ".lock").touch()
        os.utime(memory / name, (0, 0))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(memory))
    with (memory / "clusterctl-run-live" / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(site, "n1")
    assert sorted(p.name for p in memory.iterdir()) == ["clusterctl-run-live", "somebody-elses"]


def test_a_playbook_that_cannot_start_reports_the_reason(site: Path) -> None:
    (site / "play.yml").write_text("- hosts: all\n  rolls: []\n")
    outcome = run(site, "n1")
    assert outcome.status is PlaybookStatus.COULD_NOT_START
    assert "rolls" in outcome.detail
    assert outcome.hosts["n1"].status is HostStatus.NOT_PROCESSED


def test_an_ansible_that_was_killed_is_named_so(site: Path) -> None:
    def kill(event: TaskEvent) -> None:
        if event.task == "Nap" and event.status is TaskStatus.STARTED:
            subprocess.run(["pkill", "-KILL", "-f", "ansible-playbook.*nap_s=47.13"], check=True)

    outcome = run(site, "n1", extra_args=("-e", "nap_s=47.13"), on_event=kill)
    assert (outcome.status, outcome.hosts["n1"].status) == (PlaybookStatus.KILLED, HostStatus.NOT_PROCESSED)


def test_a_limit_that_matches_nothing_is_not_a_success(site: Path) -> None:
    assert run(site, "typo").hosts["typo"].status is HostStatus.NOT_PROCESSED


def test_an_empty_list_of_nodes_is_refused(site: Path) -> None:
    with pytest.raises(ConfigError):
        run(site)


def test_an_unknown_host_key_is_refused(site: Path) -> None:
    server = site / "hosts.yml"
    server.write_text(
        "all:\n  hosts:\n    n1: {ansible_host: 127.0.0.1, ansible_connection: ssh, ansible_ssh_common_args: '"
        f"-o UserKnownHostsFile={site}/none -o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=3'}}\n"
    )
    seen: list[str] = []
    outcome = run(site, "n1", verbosity=4, on_event=lambda e: seen.append(e.task))
    assert outcome.hosts["n1"].status is HostStatus.UNREACHABLE
    log = (site / "artifacts" / "ansible.log").read_text()
    assert "StrictHostKeyChecking=no" not in log
    assert f"UserKnownHostsFile={site}/none" in log


def test_a_run_that_times_out_is_stopped_with_all_its_processes(site: Path) -> None:
    outcome = run(site, "n1", timeout_s=4, extra_args=("-e", "nap_s=47.11"))
    assert outcome.status is PlaybookStatus.TIMED_OUT
    assert outcome.hosts["n1"].status is HostStatus.NOT_PROCESSED
    assert sleepers("47.11") == []


def test_an_exception_in_the_event_handler_stops_the_run_and_propagates(site: Path) -> None:
    def full_disk(event: TaskEvent) -> None:
        if event.task == "Nap" and event.status is TaskStatus.STARTED:
            raise OSError(28, "No space left on device", "/state/run")

    with pytest.raises(StoreError, match="No space left on device"):
        run(site, "n1", extra_args=("-e", "nap_s=47.12"), on_event=full_disk)
    assert sleepers("47.12") == []


@pytest.mark.parametrize(("number", "nap"), [(signal.SIGINT, "47.13"), (signal.SIGKILL, "47.14")])
def test_ansible_ends_when_its_controller_ends(site: Path, number: signal.Signals, nap: str) -> None:
    code = (
        "import sys; from pathlib import Path; from clusterctl.adapters.ansible.runner import *; s = Path(sys.argv[1])\n"
        "run_playbook(PlaybookRequest(str(s/'play.yml'), (s/'hosts.yml',), ('n1',), extra_args=('-e', 'nap_s=' + sys.argv[2])), s/'artifacts')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    child = subprocess.Popen([sys.executable, "-c", code, str(site), nap], env=environment, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: bool(sleepers(nap)))
        child.send_signal(number)
        child.wait(20)
        wait_until(lambda: not sleepers(nap))
    finally:
        child.kill()
        child.wait()


def sleepers(nap: str) -> list[int]:
    found = subprocess.run(["pgrep", "-fx", f"sleep {nap}"], check=False, capture_output=True, text=True).stdout
    return [int(p) for p in found.split()]


def wait_until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.05)
