"""The controller died while a group was measured; its agents go on. The next run on the same nodes never measures beside them."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl.model.gate_reason import GateReason
from support.agents import AgentNode, group_of, launcher, sleeper, sleepers, step, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NODES = 3
RANKS = 2
STARTED = (NODES - 1) * (1 + RANKS)
# As Open MPI starts ranks: in process groups of their own, without the files of the daemon.
ORTED = """#!{python}
import os, subprocess, sys
ranks = [subprocess.Popen(sys.argv[1:], preexec_fn=lambda: os.setpgid(0, 0)) for _ in range({ranks})]
sys.exit(max(r.wait() for r in ranks))
"""
# Prints what still runs in the folder of this node's run before.
BESIDE = """
import os, sys
from pathlib import Path
for link in Path("/proc").glob("[0-9]*/cwd"):
    try:
        if os.readlink(link) == sys.argv[1]:
            print(link.parts[2], Path(link.parent, "cmdline").read_text().replace("\\0", " "))
    except OSError:
        pass
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    orted = tmp_path / "bin" / "orted"
    orted.parent.mkdir()
    orted.write_text(ORTED.format(python=sys.executable, ranks=RANKS))
    orted.chmod(0o755)
    return {**os.environ, "PATH": f"{orted.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def first(tmp_path: Path, environment: dict[str, str]) -> Iterator[list[AgentNode]]:
    """A group in the middle of its measurement, whose controller is gone: nothing of it is left but the agents."""
    word = str(tmp_path)
    folder = tmp_path / "first"
    folder.mkdir()
    command = shlex.join(["orted", *sleeper(word)])
    made = group_of(folder, NODES, launcher(command, ("127.0.0.2", "127.0.0.3")), environment)
    for one in made:
        one.start()
    until(lambda: len(sleepers(word)) == STARTED)
    yield made
    for one in made:
        one.kill()
    for pid in sleepers(word):
        os.kill(pid, 9)


@pytest.fixture
def following(tmp_path: Path, environment: dict[str, str], first: list[AgentNode]) -> Iterator[Callable[..., list[AgentNode]]]:
    made: list[AgentNode] = []

    def start(owner: str = "o1") -> list[AgentNode]:
        """The next run: every node looks around first, then the group runs again."""
        folder = tmp_path / "next"
        folder.mkdir()
        starts = launcher(shlex.join(["orted", "true"]), ("127.0.0.2", "127.0.0.3"))
        made.extend(group_of(folder, NODES, starts, environment, run="r2", owner=owner))
        for one in made:
            one.change(lock=str(tmp_path / "first" / f"{one.name}.lock"))
            look = step("look", [sys.executable, "-c", BESIDE, str(tmp_path / "first" / one.name)], batch=-1)
            one.change(steps=[look, *one.plan["steps"]])
            one.start()
        return made

    yield start
    for one in made:
        one.kill()


@pytest.mark.parametrize("agents_live", [True, False], ids=["the agents go on", "the agents are killed, too"])
def test_the_next_run_ends_the_one_before_on_every_node_and_then_measures(
    first: list[AgentNode], following: Callable[..., list[AgentNode]], tmp_path: Path, agents_live: bool
) -> None:
    for one in first:
        if not agents_live:
            one.kill()
    made = following()
    for one in made:
        found = one.end()
        assert (found["look"].error, found["look"].stdout) == ("", "")
        assert (found.get("group") or found["member"]).exit_status == 0
    assert sleepers(str(tmp_path)) == []
    if agents_live:
        ends = [one.end() for one in first]
        # A program may be gone by a signal before its own agent is told to end.
        assert {r.error_code for end in ends for r in end.values()} <= {GateReason.INTERRUPTED, GateReason.PEER_SILENT, GateReason.KILLED}
        assert not [r for end in ends for r in end.values() if r.exit_status == 0]


def test_the_run_of_another_controller_is_refused_on_every_node(
    first: list[AgentNode], following: Callable[..., list[AgentNode]], tmp_path: Path
) -> None:
    for one in following(owner="o2"):
        found = one.end()
        assert {r.error_code for r in found.values()} == {GateReason.NODE_BUSY}
        assert all("another burn-in runs on this node (run r1, pid" in r.error for r in found.values())
    assert len(sleepers(str(tmp_path))) == STARTED
    assert all(one.process is not None and one.process.poll() is None for one in first)
