"""An inventory that one process keeps open for others: the same answers as without it, and the ordinary way wherever it has none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.inventory import worker
from clusterctl.adapters.inventory.become import load_become
from clusterctl.adapters.inventory.bmcs import load_bmcs
from clusterctl.adapters.inventory.kept import SOCKET_VARIABLE
from clusterctl.adapters.inventory.load import (
    find_places,
    inventory_read_once,
    list_hosts,
    load_and_lint_nodes,
    load_nodes,
    load_profile,
    own_inventory_read_once,
)
from clusterctl.adapters.inventory.sent_variables import load_sent_variables
from clusterctl.adapters.private_directory import private_dir
from clusterctl.model.errors import ClusterctlError
from support.big_site import write_site
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ONE = ["r000-n01"]
# Every function that asks the Ansible worker about sources, with an answer and with an error.
QUESTIONS: dict[str, Callable[[Sequence[Path]], Any]] = {
    "nodes": lambda layers: load_nodes(layers, "all"),
    "nodes of a rack": lambda layers: load_nodes(layers, "rack-001"),
    "no such node": lambda layers: load_nodes(layers, "rack-777"),
    "nodes with lint problems": lambda layers: load_and_lint_nodes(layers, "all"),
    "a profile": lambda layers: load_profile(layers, "profile_hgx_h100_ib"),
    "no such profile": lambda layers: load_profile(layers, "profile_of_nobody"),
    "hosts": list_hosts,
    "places": lambda layers: find_places(layers, [(ONE[0], "node_roles")]),
    "BMCs": lambda layers: load_bmcs(layers, ONE),
    "passwords": lambda layers: load_become(layers, ONE),
    "variables": lambda layers: load_sent_variables(layers, ONE),
    "extra variables": lambda layers: load_nodes(layers, "rack-001", extra_vars=["site=east", "{su: su-9}"]),
    "variables with extra ones": lambda layers: load_sent_variables(layers, ONE, ["bmc_user=other"]),
    "extra variables that cannot be read": lambda layers: load_nodes(layers, "rack-001", extra_vars=["[1]"]),
}


@pytest.fixture(autouse=True)
def inventory_workers() -> None:
    """Workers as users have them: these tests are about their processes."""


@pytest.fixture
def layers(tmp_path: Path) -> list[Path]:
    site = write_site(tmp_path / "site", nodes=6, racks=3, profile="profile_hgx_h100_ib")
    (site / "group_vars").mkdir()
    (site / "group_vars" / "rack_001.yml").write_text("bmc_user: admin\nbmc_password: '{{ rack }}-x'\nansible_become_password: pass\n")
    return [ROOT / "inventory" / "common", site]


@pytest.fixture
def new_workers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets for which the kept inventory had no answer."""
    asked: list[str] = []

    def ask(request: Any, ordinary: Any = worker._ask_new_worker) -> Any:
        asked.append(request.target)
        return ordinary(request)

    monkeypatch.setattr(worker, "_ask_new_worker", ask)
    return asked


@pytest.fixture
def kept(layers: list[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with inventory_read_once(layers) as variables:
        monkeypatch.setenv(SOCKET_VARIABLE, variables[SOCKET_VARIABLE])
        yield


def answer(ask: Callable[[Sequence[Path]], Any], layers: Sequence[Path]) -> Any:
    try:
        return ask(layers)
    except ClusterctlError as e:
        return type(e), str(e), e.hint


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answers_are_those_of_a_process_of_its_own(
    layers: list[Path], new_workers: list[str], monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    with_it = [answer(QUESTIONS[question], layers) for _ in range(2)]
    unanswered = 2 if question == "extra variables that cannot be read" else 0
    assert len(new_workers) == unanswered
    monkeypatch.delenv(SOCKET_VARIABLE)
    assert with_it == [answer(QUESTIONS[question], layers)] * 2
    assert len(new_workers) == unanswered + 1


def test_a_process_that_reads_once_for_itself_leaves_its_environment_as_it_was(layers: list[Path], new_workers: list[str]) -> None:
    ordinary = load_profile(layers, "profile_hgx_h100_ib")
    with own_inventory_read_once(layers):
        outer = os.environ[SOCKET_VARIABLE]
        with own_inventory_read_once(layers):
            assert load_profile(layers, "profile_hgx_h100_ib") == ordinary
        assert os.environ[SOCKET_VARIABLE] == outer
        assert load_profile(layers, "profile_hgx_h100_ib") == ordinary
    assert SOCKET_VARIABLE not in os.environ
    assert len(new_workers) == 1


@pytest.mark.usefixtures("kept")
def test_what_was_read_stays_as_it_was(layers: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts, variables of groups and of hosts, also where nobody had asked for them yet."""
    list_hosts(layers, "rack_000")
    (layers[1] / "more.yml").write_text("rack_002: {hosts: {late: {ansible_host: 192.0.2.9}}}\n")
    (layers[1] / "group_vars" / "rack_001.yml").write_text("su: late\n")
    (layers[1] / "group_vars" / "rack_002.yml").write_text("su: late\n")
    (layers[1] / "host_vars").mkdir()
    (layers[1] / "host_vars" / "r000-n01.yml").write_text("su: late\n")
    assert [(n.name, n.place.su) for n in load_nodes(layers, "all") if n.name == "late" or n.place.su == "late"] == []
    monkeypatch.delenv(SOCKET_VARIABLE)
    assert {n.name for n in load_nodes(layers, "all") if n.place.su == "late"} >= {"late", "r001-n01", "r000-n01"}


@pytest.mark.usefixtures("kept")
def test_other_sources_are_read_by_a_process_of_their_own(layers: list[Path], new_workers: list[str], tmp_path: Path) -> None:
    other = write_site(tmp_path / "other", nodes=2, racks=1, profile="profile_hgx_h100_ib")
    assert len(list_hosts([layers[0], other]).hosts) == 2
    password = tmp_path / "password"
    password.write_text("x")
    list_hosts(layers, vault_ids=[str(password)])
    assert len(new_workers) == 2


@pytest.mark.parametrize("name", ["script.sh", "broken.yml"])
def test_what_cannot_be_kept_is_read_anew(layers: list[Path], new_workers: list[str], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A script may answer differently each time; a broken file is reported as without a kept inventory."""
    source = layers[1].parent / name
    times = layers[1].parent / "times"
    source.write_text(f'#!/bin/sh\nprintf x >>{times}\necho \'{{"all": {{"hosts": ["one"]}}}}\'\n' if name == "script.sh" else "a: [\n")
    source.chmod(0o755 if name == "script.sh" else 0o644)
    with inventory_read_once([source]) as variables:
        monkeypatch.setenv(SOCKET_VARIABLE, variables[SOCKET_VARIABLE])
        found = [answer(list_hosts, [source]) for _ in range(2)]
    monkeypatch.delenv(SOCKET_VARIABLE)
    assert len(new_workers) == 2
    assert found == [answer(list_hosts, [source])] * 2


def test_without_its_process_every_request_has_one_of_its_own(
    layers: list[Path], new_workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = children(os.getpid())
    with inventory_read_once(layers) as variables:
        monkeypatch.setenv(SOCKET_VARIABLE, variables[SOCKET_VARIABLE])
        hosts = list_hosts(layers)
        (server,) = children(os.getpid()) - others
        os.kill(server, signal.SIGKILL)
        wait_until_gone(server)
        assert list_hosts(layers) == hosts
    assert new_workers == ["all"]


def test_where_no_socket_can_be_made_nothing_is_kept(layers: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    with inventory_read_once(layers) as variables:
        assert variables == {}
    assert list(folder.iterdir()) == []


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the path of a socket has 107 characters at most."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def test_it_ends_with_its_context_and_with_its_parent(layers: list[Path], memory: Path) -> None:
    others = children(os.getpid())
    with inventory_read_once(layers):
        (server,) = children(os.getpid()) - others
    wait_until_gone(server)
    assert list(memory.iterdir()) == []
    code = (
        "import sys\nfrom pathlib import Path\nfrom clusterctl.adapters.inventory.load import inventory_read_once\n"
        "with inventory_read_once([Path(sys.argv[1])]):\n    print(flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(layers[1])], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        parent.stdout.readline()
        (server,) = children(parent.pid)
        parent.kill()
    wait_until_gone(server)
    (left,) = memory.iterdir()
    os.utime(left, (0, 0))
    with private_dir():
        assert not left.exists(), "the folder of a killed process goes with the next one's"


def children(pid: int) -> set[int]:
    return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def wait_until_gone(pid: int) -> None:
    """Gone, or dead and not yet waited for."""
    until = time.monotonic() + 20
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state in "ZX":
            return
        assert time.monotonic() < until
        time.sleep(0.02)
