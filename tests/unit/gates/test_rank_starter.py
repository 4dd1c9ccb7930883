"""The agents of a group start each other's commands; here a script stands for mpirun and another one for its daemon."""

from __future__ import annotations

import ast
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from clusterctl.model.gate_reason import GateReason
from support.agents import FILES, TOKEN, AgentNode, address_of, group_of, launcher, program, sleeper, sleepers, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

Group = list[AgentNode]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An `orted` that runs its arguments."""
    orted = tmp_path / "bin" / "orted"
    orted.parent.mkdir()
    orted.write_text('#!/bin/sh\nexec "$@"\n')
    orted.chmod(0o755)
    return {**os.environ, "PATH": f"{orted.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]) -> Iterator[Callable[..., Group]]:
    made: Group = []

    def start(argv: list[str], count: int = 2, **more: Any) -> Group:
        made.extend(group_of(tmp_path, count, argv, environment, **more))
        return [one.start() for one in made]

    yield start
    for one in made:
        one.kill()


def test_a_command_runs_on_every_member_and_its_output_and_status_come_back(run: Callable[..., Group], tmp_path: Path) -> None:
    command = "orted sh -c 'echo out in $PWD; echo err >&2; exit 7'"
    one, *others = run(launcher(command, ("127.0.0.2", "127.0.0.3")), 3)
    launched = one.end()["group"]
    assert launched.exit_status == 7
    assert sorted(launched.stdout.splitlines()) == [f"out in {tmp_path}/n2", f"out in {tmp_path}/n3"]
    assert launched.stderr.splitlines() == ["err", "err"]
    for other in others:
        own = other.end()["member"]
        assert (own.exit_status, own.error, own.stdout, own.stderr) == (7, "", f"out in {other.folder}\n", "err\n")
        assert (own.peer, own.peers, own.attempts) == ("n1", (), 1)


def test_what_it_started_ends_with_an_agent_that_is_killed(run: Callable[..., Group], tmp_path: Path) -> None:
    word = str(tmp_path)
    one, two = run(launcher(shlex.join(["orted", *sleeper(word)])))
    until(lambda: sleepers(word) != [])
    one.kill()
    until(lambda: not sleepers(word))
    own = two.end()["member"]
    assert (own.error_code, own.exit_status) == (GateReason.PEER_SILENT, None)
    assert "closed the connection" in own.error


def test_what_it_started_ends_with_its_time_even_in_a_group_of_its_own(run: Callable[..., Group], tmp_path: Path) -> None:
    word = str(tmp_path)
    own_group = f"import os, subprocess, sys; subprocess.Popen({sleeper(word)!r}, preexec_fn=lambda: os.setpgid(0, 0)).wait()"
    one, two = run(launcher(shlex.join(["orted", sys.executable, "-c", own_group])), limit_s=4)
    until(lambda: sleepers(word) != [])
    assert two.end()["member"].error_code in (GateReason.TIMED_OUT, GateReason.PEER_SILENT)
    assert one.end()["group"].error_code is GateReason.TIMED_OUT
    assert sleepers(word) == []


def test_what_the_killed_agent_of_a_member_left_is_ended_by_its_next_run(
    run: Callable[..., Group], tmp_path: Path, environment: Mapping[str, str]
) -> None:
    word = str(tmp_path)
    _, two = run(launcher(shlex.join(["orted", *sleeper(word)])))
    until(lambda: sleepers(word) != [])
    two.kill()
    folder = tmp_path / "later"
    folder.mkdir()
    later = AgentNode(folder, "n2", 1, [], environment, lock=str(tmp_path / "n2.lock")).start()
    later.end()
    assert sleepers(word) == []


@pytest.mark.parametrize(("claimed", "least", "most"), [(True, 1, 1), (False, 3, 6)])
def test_a_launcher_is_queried_rarely_once_it_has_started_its_ranks(claimed: bool, least: int, most: int, tmp_path: Path) -> None:
    """It is measuring, and a group may have hundreds of members."""
    member = program("rank_server").Member({}, {"batch": 0, "peer": "n1"}, tmp_path, {}, 0)
    member.claimed = claimed
    batch = Mock(return_value=0)
    threading.Timer(1.8, member.finished.set).start()
    member.wait(batch, threading.Event(), time.monotonic() + 10, 20.0)
    assert least <= batch.call_count <= most


def test_a_member_on_which_nothing_is_started_says_so(run: Callable[..., Group]) -> None:
    one, two = run(["true"])
    assert one.end()["group"].exit_status == 0
    own = two.end()["member"]
    assert (own.error_code, own.exit_status, own.attempts) == (GateReason.PEER_SILENT, None, 0)
    assert own.error == "n1 started nothing here"


def test_a_member_without_the_daemon_names_it(tmp_path: Path) -> None:
    one, two = (n.start() for n in group_of(tmp_path, 2, launcher("no_such_orted true"), os.environ, daemon="no_such_orted"))
    assert two.end()["member"].error_code is GateReason.NOT_INSTALLED
    launched = one.end()["group"]
    assert launched.exit_status == 255
    assert "rank_starter: 127.0.0.2: " in launched.stderr


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sh -c 'orted'", "only orted may be started"),
        ("PATH=/tmp orted", "only orted may be started"),
        ("/tmp/orted", "only orted may be started"),
        ("orted 'open", "No closing quotation"),
    ],
)
def test_nothing_but_the_daemon_is_started(run: Callable[..., Group], command: str, why: str) -> None:
    one, two = run(launcher(command))
    launched = one.end()["group"]
    assert launched.exit_status == 255
    assert why in launched.stderr
    assert two.end()["member"].error == "n1 started nothing here"


def test_a_second_command_of_the_same_batch_is_refused(run: Callable[..., Group]) -> None:
    one, _ = run(launcher("orted sleep 2", ("127.0.0.2", "127.0.0.2")))
    launched = one.end()["group"]
    assert launched.exit_status == 255
    assert "have been started before" in launched.stderr


def refusal(node: AgentNode, head: str, token: str = TOKEN) -> str:
    """The agent's last line to whoever sends this."""
    proof = program("rank_starter").proof
    plan = json.loads((node.folder / "plan.json").read_text())
    with socket.create_connection((address_of(node.name), plan["control_port"]), timeout=5) as connection:
        lines = connection.makefile("rwb")
        lines.write(f"{head}\n".encode())
        lines.flush()
        nonce = lines.readline().decode().strip()
        command = "orted touch started"
        lines.write(json.dumps({"command": command, "proof": proof(token, nonce, f"{head}\n{command}")}).encode() + b"\n")
        lines.flush()
        try:
            return str(lines.readline().decode().strip())
        except ConnectionError:
            return ""


@pytest.mark.parametrize(
    ("head", "token", "why"),
    [
        ("r1 n1 0 start", "00" * 32, "refused the request does not come from this run"),
        ("r1 n3 0 start", TOKEN, "refused only n1 starts ranks here"),
        ("r1 n1 1 start", TOKEN, "refused no ranks are to be started here in this batch"),
        ("r0 n1 0 start", TOKEN, ""),
    ],
)
def test_only_the_launcher_of_this_run_and_batch_is_served(run: Callable[..., Group], head: str, token: str, why: str) -> None:
    _, two = run(["sleep", "3"])
    plan = json.loads((two.folder / "plan.json").read_text())
    until(lambda: _listens(address_of("n2"), plan["control_port"]))  # in the batch
    assert refusal(two, head, token) == why
    assert not (two.folder / "started").exists()


def _listens(address: str, port: int) -> bool:
    query = f"n9 -9 {port}"
    shown = program("rank_starter").proof(TOKEN, "00", f"r1 {query} query")
    try:
        with socket.create_connection((address, port), timeout=1) as connection:
            connection.sendall(f"r1 {query} 00 {shown}\n".encode())
            return connection.recv(99).startswith(b"0 ")
    except OSError:
        return False


def test_the_token_is_never_sent(tmp_path: Path, environment: Mapping[str, str]) -> None:
    """A listener in the place of a member learns nothing that it can use elsewhere."""
    one = AgentNode(tmp_path, "n1", 1, [], environment)
    plan = json.loads((one.folder / "plan.json").read_text())
    with socket.create_server(("127.0.0.9", 0)) as fake:
        (one.folder / "plan.json").write_text(json.dumps({**plan, "control_port": fake.getsockname()[1]}))
        assert program("run_claim").claim(one.folder)
        argv = [sys.executable, str(one.folder / "rank_starter.py"), "127.0.0.9", "orted", "true"]
        starter = subprocess.Popen(argv, env={**environment, "CLUSTERCTL_BURNIN_BATCH": "0"})
        connection = fake.accept()[0]
        with connection, connection.makefile("rwb") as lines:
            first = lines.readline()
            lines.write(b"00\n")
            lines.flush()
            second = lines.readline()
        assert starter.wait(10) == 255
    assert first == b"r1 n1 0 start\n"
    assert json.loads(second)["command"] == "orted true"
    assert TOKEN.encode() not in first + second


def test_the_programs_of_the_agent_are_python_3_8() -> None:
    for file in FILES.glob("*.py"):
        ast.parse(file.read_text(), feature_version=(3, 8))
