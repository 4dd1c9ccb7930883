"""The lab's foreign programs are what the burn-in agent looks for, and end with their fault."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.workflows.burnin import agent_plan
from clusterctl_lab import faults
from clusterctl_lab.simulator import foreign_programs
from clusterctl_lab.simulator.state import Fault, Faults
from clusterctl_validators.nvidia_processes import COMPUTE_DEVICES
from support.agents import program

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = faults.fault_catalogue()[foreign_programs.FAULT].choices
NONE = Faults()


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[foreign_programs.ForeignPrograms]:
    made = foreign_programs.ForeignPrograms(str(tmp_path / "nvidia-uvm"))
    yield made
    made.update(NONE)


def told(programs: foreign_programs.ForeignPrograms) -> str:
    """What an agent on the machine would tell."""
    rules = {"devices": [programs.device], "services": [], "jobs": agent_plan.JOBS}
    return str(program("exclusive_use").Watch(rules, "r1", own=-1).foreign(0.0, []))


def test_it_holds_a_file_that_the_agent_watches() -> None:
    assert foreign_programs.DEVICE in COMPUTE_DEVICES


@pytest.mark.parametrize(("kind", "words"), [("training", "computes on the GPUs"), ("slurm_step", "runs a job on this node")])
def test_the_agent_sees_it_until_it_is_cleared(programs: foreign_programs.ForeignPrograms, kind: str, words: str) -> None:
    assert kind in KINDS
    programs.update(Faults((Fault(foreign_programs.FAULT, "", kind),)))
    process = programs.started[kind]
    assert f"pid {process.pid} (sleep) {words}" in told(programs)
    programs.update(NONE)
    assert str(process.pid) not in told(programs)
    assert not Path(programs.device).exists()


def test_a_person_can_end_it(programs: foreign_programs.ForeignPrograms) -> None:
    active = Faults((Fault(foreign_programs.FAULT, "", "training"),))
    programs.update(active)
    process = programs.started["training"]
    process.terminate()
    process.wait()
    programs.update(active)
    assert programs.started == {"training": process}
    assert str(process.pid) not in told(programs)
