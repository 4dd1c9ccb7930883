"""The links of the simulated GPUs, as the burn-in agent samples them and the gate judges them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates.pcie_links import judge_links
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_result import Outcome
from clusterctl.model.pcie_hop import PcieHop
from clusterctl_lab.simulator import hardware_kinds, load, machine, pcie_training, pseudo_files, state, sysfs_pci
from clusterctl_lab.simulator.state import Fault, Faults
from clusterctl_validators.nvidia import PCI_FUNCTIONS
from support.agents import program
from support.gates import TODAY, node
from support.lab_machine import simulate_hardware

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.gate_result import GateResult
    from clusterctl_lab.simulator.hardware import Hardware

sampler = program("link_sampler")


@pytest.fixture
def sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the sysfs of a lab node."""
    (tmp_path / "load").mkdir()
    monkeypatch.setattr(load, "FOLDER", str(tmp_path / "load"))
    monkeypatch.setattr(pcie_training, "SYS", str(tmp_path / "sys"))
    monkeypatch.setattr(pcie_training, "LOADED_S", 0.0)
    return tmp_path / "sys"


def measure(sys: Path, monkeypatch: pytest.MonkeyPatch, *faults: Fault, loaded: bool = True) -> list[GateResult]:
    """What the gate makes of the links of a machine with faults, while its GPUs are loaded."""
    pseudo_files.write_files(str(sys), sysfs_pci.files(set()))
    pseudo_files.make_links(str(sys), sysfs_pci.links(set()))
    monkeypatch.setattr(state, "read_faults", lambda: Faults(faults))
    pcie_training.show(Faults(faults))
    running = sampler.LinkSampler(PCI_FUNCTIONS, sys)
    running.sample()
    if loaded:
        with pcie_training.under_load():
            running.sample()
    running.sample()
    hops = tuple(PcieHop(**hop) for hop in running.hops)
    return list(judge_links("nvbandwidth", subject_of(node("n1", gpus=machine.GPUS), TODAY), hops))


@pytest.mark.parametrize("kind", hardware_kinds.KINDS.values(), ids=list(hardware_kinds.KINDS))
def test_healthy_links_of_every_kind(kind: Hardware, sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_hardware(kind, monkeypatch)
    found = measure(sys, monkeypatch)
    links = len(kind.gpu_addresses) * (1 if kind.rack_nvlink else 2)
    assert [(r.outcome, r.found) for r in found] == [(Outcome.PASS, f"{links} links of {len(kind.gpu_addresses)} GPUs")]


def test_links_at_rest_prove_nothing(sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure(sys, monkeypatch, loaded=False)
    assert {(r.metric, r.found) for r in found} == {("pcie_speed", "2.5 GT/s")}
    assert pcie_training.now(machine.THIS.gpu_addresses[0]) == (1, 16)


@pytest.mark.parametrize(
    ("trained", "metric", "expected", "found"),
    [("gen3", "pcie_speed", ">= 32 GT/s", "8 GT/s"), ("x8", "pcie_width", ">= 16 lanes", "8 lanes")],
)
def test_the_uplink_of_a_switch(trained: str, metric: str, expected: str, found: str, sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (result,) = measure(sys, monkeypatch, Fault("pcie_uplink_downtrained", "3", trained))
    root, upstream, _ = sysfs_pci.ports_of(machine.THIS.gpu_addresses[3])
    assert (result.outcome, result.metric, result.expected, result.found) == (Outcome.FAIL, metric, expected, found)
    assert result.detail == f"the link between {upstream} and the port above it, {root}, on the way to gpu3"


def test_a_gpu_without_a_switch(sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = hardware_kinds.KINDS["gb300_nvl72"]
    simulate_hardware(kind, monkeypatch)
    (result,) = measure(sys, monkeypatch, Fault("pcie_uplink_downtrained", "1", "gen4"))
    assert (result.metric, result.device, result.found) == ("pcie_speed", "gpu1", "16 GT/s")


@pytest.mark.parametrize(("trained", "share"), [("gen3", 0.25), ("x8", 0.5), ("gen4", 0.5), ("gen5", 1.0)])
def test_what_is_left_of_the_bandwidth(trained: str, share: float) -> None:
    faults = Faults((Fault("pcie_uplink_downtrained", "3", trained),))
    assert [pcie_training.share(faults, gpu) for gpu in (2, 3)] == [1.0, share]
