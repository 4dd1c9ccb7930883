"""The ranks of a group, started by the real Open MPI through the agents of its nodes instead of SSH."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from clusterctl.core.gates.mpi_options import mpi_hosts, mpi_options
from clusterctl.core.gates.subject import subject_of
from support.agents import AgentNode, address_of, group_of, program, sleeper, sleepers, until
from support.gates import TODAY, gates, node
from support.ports import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("mpirun") or not shutil.which("orted"), reason="Open MPI is not installed"),
]

NODES = 3


def mpirun(program: list[str], *, declared: bool = False) -> list[str]:
    names = [f"n{i}" for i in range(1, NODES + 1)]
    profiles = {name: gates(gates_peer_address=address_of(name) if declared else "") for name in names}
    members = [subject_of(node(name, host=address_of(name), declared=profiles[name]), TODAY) for name in names]
    hosts = mpi_hosts([m.address for m in members], [2] * NODES)
    return [
        "mpirun",
        "--allow-run-as-root",
        "-np",
        str(2 * NODES),
        "--host",
        hosts,
        "--bind-to",
        "none",
        *mpi_options(len(members)),
        *program,
    ]


@pytest.mark.parametrize("declared", [False, True])
def test_every_node_runs_its_ranks_and_ends_with_them(tmp_path: Path, declared: bool) -> None:
    program = ["sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK; readlink /proc/$PPID/exe >&2"]
    made = group_of(tmp_path, NODES, mpirun(program, declared=declared), os.environ)
    for one in made:
        one.start()
    records = [one.end() for one in made]
    launched = records[0]["group"]
    assert (launched.error, launched.exit_status) == ("", 0), launched.stderr
    assert sorted(line for line in launched.stdout.splitlines() if line.startswith("rank ")) == [f"rank {i}" for i in range(2 * NODES)]
    assert launched.stderr.count("/orted\n") == 2 * (NODES - 1)
    for own in records[1:]:
        assert (own["member"].error, own["member"].exit_status) == ("", 0)


def test_the_launch_agent_gets_every_host_as_it_is_named(tmp_path: Path) -> None:
    """Two hosts whose names differ in their domains only, and an address of IPv6, which MPI refuses; no name is looked up."""
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/hosts\nsleep 2\nexit 1\n')
    agent.chmod(0o755)
    addresses = ["fd00::1", "n2.rack1.example", "n2.rack2.example", "fd00::2", "10.0.0.3"]
    options = mpi_options(len(addresses), ("--mca", "plm_rsh_agent"))
    hosts = mpi_hosts(addresses, [1] * len(addresses))
    argv = ["mpirun", "--allow-run-as-root", "--host", hosts, *options, "--mca", "plm_rsh_agent", str(agent), "true"]
    subprocess.run(argv, check=False, timeout=20, env={**os.environ, "TMPDIR": str(tmp_path)}, cwd=tmp_path, capture_output=True)
    named = sorted(map(program("rank_starter").address_of, (tmp_path / "hosts").read_text().split()))
    assert named == sorted(addresses[1:])


@pytest.mark.parametrize("victim", [0, 1])
def test_ranks_end_when_an_agent_is_killed(tmp_path: Path, victim: int) -> None:
    word = f"{tmp_path.name}-{victim}"
    made = group_of(tmp_path, NODES, mpirun(sleeper(word)), os.environ)
    for one in made:
        one.start()
    try:
        until(lambda: len(sleepers(word)) == 2 * NODES)
        made[victim].kill()
        until(lambda: not sleepers(word))
    finally:
        for one in made:
            one.kill()


def test_ranks_that_lost_agent_and_daemon_end_before_the_next_run_measures(tmp_path: Path) -> None:
    word = f"{tmp_path.name}-lost"
    made = group_of(tmp_path, NODES, mpirun(sleeper(word)), os.environ)
    for one in made:
        one.start()
    following: list[AgentNode] = []
    try:
        until(lambda: len(sleepers(word)) == 2 * NODES)
        left = daemons(tmp_path)
        # A daemon that sees another one end would end its ranks.
        for pid in left:
            os.kill(pid, signal.SIGSTOP)
        for one in made:
            one.kill()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert len(sleepers(word)) == 2 * NODES
        later = tmp_path / "later"
        later.mkdir()
        following = [AgentNode(later, one.name, free_port(), [], lock=str(tmp_path / f"{one.name}.lock"), run="r2") for one in made]
        for one in following:
            one.start()
        for one in following:
            one.end()
        assert sleepers(word) == []
    finally:
        for one in (*made, *following):
            one.kill()


def daemons(folder: Path) -> list[int]:
    """mpirun and its daemons in the nodes' folders."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if link.readlink().parent == folder and (link.parent / "comm").read_text().strip() in ("mpirun", "orted"):
                found.append(int(link.parts[2]))
    return found
