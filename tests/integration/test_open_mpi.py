"""The ranks of a group, started by the real Open MPI through the agents of its nodes instead of SSH."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates.mpi_options import mpi_options
from clusterctl.core.gates.subject import subject_of
from support.agents import address_of, group_of, sleeper, sleepers, until
from support.gates import TODAY, gates, node

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("mpirun") or not shutil.which("orted"), reason="Open MPI is not installed"),
]

NODES = 3


def mpirun(program: list[str], *, declared: bool = False) -> list[str]:
    names = [f"n{i}" for i in range(1, NODES + 1)]
    profiles = {name: gates(gates_peer_address=address_of(name) if declared else "") for name in names}
    members = [subject_of(node(name, host=address_of(name), declared=profiles[name]), TODAY) for name in names]
    hosts = ",".join(f"{m.address}:2" for m in members)
    return ["mpirun", "--allow-run-as-root", "-np", str(2 * NODES), "--host", hosts, "--bind-to", "none", *mpi_options(members), *program]


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
