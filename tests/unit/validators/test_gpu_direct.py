"""ACS for GPUDirect through the switch of a ConnectX-8: what `rdma_topo check` of rdma-core wants, behind Grace and behind other processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools import lspci
from clusterctl_validators import test_pcie as module
from clusterctl_validators.finding import Finding, Outcome
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode, write_files
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

BRIDGES = " ".join(lspci.BRIDGES)
CHECK = "pcie.acs.gpu_direct[0008:03:00.0]"
ROOT_PORT, UP, TO_DMA, TO_GPU = "0008:00:00.0", "0008:01:00.0", "0008:02:00.0", "0008:02:03.0"
DMA, UP_2, LAST, GPU = "0008:03:00.0", "0008:04:00.0", "0008:05:00.0", "0008:06:00.0"
PATHS = {
    ROOT_PORT: (ROOT_PORT,),
    UP: (ROOT_PORT, UP),
    TO_DMA: (ROOT_PORT, UP, TO_DMA),
    DMA: (ROOT_PORT, UP, TO_DMA, DMA),
    TO_GPU: (ROOT_PORT, UP, TO_GPU),
    UP_2: (ROOT_PORT, UP, TO_GPU, UP_2),
    LAST: (ROOT_PORT, UP, TO_GPU, UP_2, LAST),
    GPU: (ROOT_PORT, UP, TO_GPU, UP_2, LAST, GPU),
}
FLAGS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
KERNEL = "SrcValid ReqRedir CmpltRedir UpstreamFwd"
RIGHT = {
    ROOT_PORT: "ReqRedir CmpltRedir UpstreamFwd",
    TO_DMA: "SrcValid CmpltRedir UpstreamFwd",
    TO_GPU: "SrcValid ReqRedir UpstreamFwd",
    LAST: KERNEL,
}


def bridges(acs: dict[str, str]) -> str:
    def control(on: str) -> str:
        return " ".join(flag + ("+" if flag in on.split() else "-") for flag in FLAGS)

    return "\n".join(f"{a} PCI bridge: x\n\tCapabilities: [100 v1] ACS\n\t\tACSCtl:\t{control(on)}" for a, on in acs.items())


def tray(root: Path, root_port: str = "0x22b1", dma: str = "0x2100") -> Path:
    """A root port of Grace with one ConnectX-8 and its GPU; the adapter's own function is in another segment."""
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    for address, path in PATHS.items():
        vendor, device, kind = {
            ROOT_PORT: ("0x10de", root_port, "0x060400"),
            DMA: ("0x15b3", dma, "0x080100"),
            GPU: ("0x10de", "0x31c2", "0x030200"),
        }.get(address, ("0x15b3", "0x197c", "0x060400"))
        folder = "/sys/devices/pci0008:00/" + "/".join(path)
        files = {"vendor": vendor, "device": device, "class": kind, "uevent": f"DRIVER=x\nPCI_SLOT_NAME={address}\n"}
        write_files(root, {f"{folder}/{name}": text for name, text in files.items()})
        (devices / address).symlink_to(root / folder.lstrip("/"))
    return root


def findings(root: Path, acs: dict[str, str] | None = None, declared: str = "", vm: str = "none", text: str = "") -> dict[str, Finding]:
    record = Record("pcie")
    spec = SpecView("pcie", {**load_role(ROOT / "roles" / "pcie").defaults, "pcie_acs": declared})
    commands: dict[str, CommandResult | str] = {
        BRIDGES: text or bridges(RIGHT if acs is None else acs),
        "systemd-detect-virt --container": CommandResult(1, "none\n"),
        "systemd-detect-virt --vm": CommandResult(0 if vm != "none" else 1, vm + "\n"),
    }
    module.test_gpu_direct(spec=spec, record=record, probe=Probe(InventedNode(root, commands)))
    return {f.check: f for f in record.findings}


def test_a_tray_that_was_booted_with_the_settings_of_rdma_topo(tmp_path: Path) -> None:
    assert {name: f.outcome for name, f in findings(tray(tmp_path)).items()} == {CHECK: Outcome.PASS}


def test_a_tray_with_acs_as_the_kernel_sets_it_is_shown_and_held_by_nothing(tmp_path: Path) -> None:
    """NVIDIA/nodewright-packages pull 111: two GB300 trays read 360 GB/s of 426, and one could not register GPU memory."""
    found = findings(tray(tmp_path), dict.fromkeys(RIGHT, KERNEL))[CHECK]
    assert found.outcome is Outcome.WARN
    assert found.found == f"{TO_DMA} ReqRedir+, {TO_GPU} CmpltRedir+, {ROOT_PORT} SrcValid+"
    assert found.expected == f"{TO_DMA} ReqRedir-, {TO_GPU} CmpltRedir-, {ROOT_PORT} SrcValid-"
    assert "rdma_topo write-grub-acs" in found.hint


@pytest.mark.parametrize(("port", "flags"), [(TO_DMA, "SrcValid UpstreamFwd"), (TO_GPU, KERNEL), (ROOT_PORT, KERNEL), (ROOT_PORT, "")])
def test_each_port_counts(port: str, flags: str, tmp_path: Path) -> None:
    found = findings(tray(tmp_path), {**RIGHT, port: flags})[CHECK]
    assert (found.outcome, found.found.split(maxsplit=1)[0]) == (Outcome.WARN, port)


def test_a_port_without_acs_is_shown(tmp_path: Path) -> None:
    found = findings(tray(tmp_path), {a: on for a, on in RIGHT.items() if a != TO_GPU})[CHECK]
    assert (found.outcome, found.found) == (Outcome.WARN, f"lspci shows no ACS of {TO_GPU}")


@pytest.mark.parametrize(
    ("tray_of", "how", "reason"),
    [
        ({"dma": "0x1023"}, {}, "no GPU is behind"),
        ({"root_port": "0x352a"}, {}, "no GPU is behind"),
        ({"dma": "0x1017", "root_port": "0x352a"}, {}, "no GPU is behind"),
        ({}, {"vm": "kvm"}, "a virtual machine"),
    ],
    ids=["no_such_function", "another_processor", "another_adapter", "virtual"],
)
def test_where_nothing_is_known(tray_of: dict[str, str], how: dict[str, Any], reason: str, tmp_path: Path) -> None:
    (found,) = findings(tray(tmp_path, **tray_of), **how).values()
    assert (found.outcome, reason in found.reason) == (Outcome.NOT_APPLICABLE, True)


def test_hidden_capabilities(tmp_path: Path) -> None:
    (found,) = findings(tray(tmp_path), text="0008:00:00.0 PCI bridge\n\tCapabilities: <access denied>").values()
    assert (found.outcome, found.found) == (Outcome.WARN, "lspci: only root may read the capabilities of PCI devices")


OFF = dict.fromkeys(RIGHT, "")
FOR_MACHINES = {**dict.fromkeys(RIGHT, KERNEL), TO_DMA: f"{KERNEL} DirectTrans"}


@pytest.mark.parametrize(
    ("acs", "outcome"),
    [
        (OFF, Outcome.PASS),
        (FOR_MACHINES, Outcome.PASS),
        (dict.fromkeys(RIGHT, KERNEL), Outcome.WARN),
        ({**OFF, TO_GPU: "ReqRedir"}, Outcome.WARN),
    ],
    ids=["off", "for_virtual_machines", "as_the_kernel_sets_it", "one_port"],
)
def test_an_adapter_and_its_gpu_behind_another_processor(acs: dict[str, str], outcome: Outcome, tmp_path: Path) -> None:
    """HGX: the function of the ConnectX-8 itself is at the switch (rdma-core pull 1725)."""
    (found,) = findings(tray(tmp_path, root_port="0x352a", dma="0x1023"), acs).values()
    assert (found.check, found.outcome) == (CHECK, outcome)


def test_where_acs_is_declared_off_its_own_check_judges(tmp_path: Path) -> None:
    (found,) = findings(tray(tmp_path, root_port="0x352a", dma="0x1023"), declared="disabled").values()
    assert found.outcome is Outcome.NOT_APPLICABLE
