"""Roles run on the node itself: the same outcome as from the controller, through lost connections, killed controllers and second runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
from clusterctl.adapters.ansible.runner import run_playbook
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.inventory.sent_variables import load_sent_variables
from clusterctl.adapters.on_node.run_on_nodes import OnNodeResult, OnNodeSettings, run_on_nodes
from clusterctl.model.playbook_result import HostStatus, PlaybookStatus
from support.container_node import ContainerNode
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clusterctl.model.task_event import TaskEvent

pytestmark = [pytest.mark.containers, pytest.mark.slow]
NODE = "v1-n01"
SECRET = "planted-secret-8251"
KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from integration.test_apply_on_node import apply
apply(Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerNode]:
    with ContainerNode(tmp_path_factory.mktemp("on_node")) as running:
        yield running


@pytest.fixture(scope="module")
def site(node: ContainerNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return node.write_site(tmp_path_factory.mktemp("site") / "site", planted_secret=SECRET)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


def request(site: Path) -> PlaybookRequest:
    return PlaybookRequest("provision.yml", (ROOT / "inventory" / "common", site), (NODE,), tags=("nccl",))


def apply(
    site: Path,
    artifacts: Path,
    state: Path,
    on_event: Callable[[TaskEvent], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    python: str = "",
) -> OnNodeResult:
    asked = request(site)
    nodes = load_nodes(asked.inventory, NODE)
    if python:
        nodes = tuple(replace(n, connection=replace(n.connection, python=python)) for n in nodes)
    settings = OnNodeSettings(unattended_s=15.0, reconnect_s=90.0)
    variables = load_sent_variables(asked.inventory, [NODE])
    return run_on_nodes(
        asked, nodes, artifacts, state, variables, holder="the first run", on_event=on_event, cancelled=cancelled, settings=settings
    )


def left_on(node: ContainerNode) -> str:
    return node.shell(
        "pgrep -af '[a]nsible|[c]lusterctl_on_node' || true; ls -A /run/clusterctl-apply /dev/shm/clusterctl-apply 2>/dev/null | grep -v '^lock$\\|:$\\|^$' || true"
    )


def wait_until_clean(node: ContainerNode, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while left_on(node) and time.monotonic() < until:
        time.sleep(1)
    assert left_on(node) == ""


def test_the_outcome_is_that_of_a_run_from_the_controller(node: ContainerNode, site: Path, state: Path, tmp_path: Path) -> None:
    first = apply(site, tmp_path / "first", state).result
    assert (first.status, first.hosts[NODE].status, first.hosts[NODE].failures) == (PlaybookStatus.COMPLETED, HostStatus.OK, ())
    assert first.hosts[NODE].changed > 0
    here = apply(site, tmp_path / "here", state).result.hosts[NODE]
    there = run_playbook(request(site), tmp_path / "there").hosts[NODE]
    assert (here.ok, here.changed, here.status) == (there.ok, 0, HostStatus.OK)
    assert events(tmp_path / "here") == events(tmp_path / "there")
    assert "PLAY RECAP" in (tmp_path / "here" / f"ansible-{NODE}.log").read_text()
    wait_until_clean(node)


def events(artifacts: Path) -> list[tuple[str, str, str]]:
    rows = [json.loads(line) for line in (artifacts / "events.jsonl").read_text().splitlines()]
    return [(row["role"], row["task"], row["status"]) for row in rows]


def test_no_secret_is_left_on_the_node_or_in_the_run(node: ContainerNode, site: Path, state: Path, tmp_path: Path) -> None:
    assert SECRET in json.dumps(load_sent_variables(request(site).inventory, [NODE]).of_node), "it is sent"
    apply(site, tmp_path, state)
    wait_until_clean(node)
    assert node.shell(f"grep -rl {SECRET} / --exclude-dir=proc --exclude-dir=sys 2>/dev/null || true") == ""
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and SECRET in p.read_text(errors="replace")]


def test_it_goes_on_while_its_connection_is_cut(node: ContainerNode, site: Path, state: Path, tmp_path: Path) -> None:
    cut = threading.Event()

    def cut_once(event: TaskEvent) -> None:
        if event.role == "nccl" and not cut.is_set():
            cut.set()
            node.shell("pkill -f 'sshd: root@'", check=False)

    result = apply(site, tmp_path, state, cut_once).result
    assert cut.is_set()
    assert (result.status, result.hosts[NODE].status) == (PlaybookStatus.COMPLETED, HostStatus.OK)
    tasks = [(role, task) for role, task, status in events(tmp_path) if status == "ok"]
    assert len(tasks) == result.hosts[NODE].ok, "no event is lost or read twice"
    wait_until_clean(node)


def test_a_cancelled_run_ends_on_the_node(node: ContainerNode, site: Path, state: Path, tmp_path: Path) -> None:
    for turn in range(5):
        seen = threading.Event()
        result = apply(site, tmp_path / str(turn), state, lambda _event, seen=seen: seen.set(), seen.is_set).result  # type: ignore[misc]
        if result.hosts[NODE].status is not HostStatus.OK:  # else it was over before it could be cancelled
            break
    assert (result.status, result.hosts[NODE].status) == (PlaybookStatus.CANCELLED, HostStatus.NOT_PROCESSED)
    wait_until_clean(node)


@pytest.mark.parametrize("victim", ["[a]nsible-playbook", "[w]orker --private-data-dir"])
def test_what_was_killed_on_the_node_is_named_so(node: ContainerNode, site: Path, state: Path, tmp_path: Path, victim: str) -> None:
    for turn in range(5):
        done = threading.Event()

        def kill(_event: TaskEvent, done: threading.Event = done) -> None:
            if not done.is_set():
                done.set()
                node.shell(f"pkill -KILL -f '{victim}'", check=False)

        result = apply(site, tmp_path / str(turn), state, kill).result
        if result.hosts[NODE].status is not HostStatus.OK:  # else it was over before it could be killed
            break
    assert (result.status, result.hosts[NODE].status) == (PlaybookStatus.COMPLETED, HostStatus.NOT_PROCESSED)
    assert "Ansible was killed on the node" in result.hosts[NODE].failures[-1].message
    wait_until_clean(node)


def test_of_a_killed_controller_nothing_stays(node: ContainerNode, site: Path, state: Path, tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(ROOT / "tests"), str(site), str(tmp_path), str(state)])
    try:
        log = tmp_path / "events.jsonl"
        until = time.monotonic() + 120
        while not (log.exists() and log.stat().st_size) and time.monotonic() < until:
            time.sleep(0.2)
        assert log.exists()
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    wait_until_clean(node)


def test_a_second_run_on_a_node_is_refused_with_the_holder(node: ContainerNode, site: Path, state: Path, tmp_path: Path) -> None:
    folder = node.shell("ls -d /run/clusterctl-apply /dev/shm/clusterctl-apply 2>/dev/null || true").split()[0]
    hold = f"import fcntl, time; f = open('{folder}/lock', 'w'); fcntl.flock(f, 2); f.write('operator of another run'); f.flush(); time.sleep(300)"
    node.shell(f'setsid python3 -c "{hold}" >/dev/null 2>&1 & sleep 1')
    try:
        found = apply(site, tmp_path, state).result.hosts[NODE]
    finally:
        node.shell("pkill -f 'operator of [a]nother run'", check=False)
    assert found.status is HostStatus.NOT_PROCESSED
    assert "operator of another run" in found.failures[0].message
    assert events(tmp_path) == [], "nothing was changed"


def test_a_node_that_cannot_run_it_is_left_to_the_controller(site: Path, state: Path, tmp_path: Path) -> None:
    found = apply(site, tmp_path, state, python="/usr/bin/python3.99")
    assert NODE in found.unsuited
    assert found.result.hosts == {}
