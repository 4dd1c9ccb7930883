"""XIDs and PCIe errors of the kernel log as findings of their GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.probe import CommandResult
from support.checks import InventedNode, run_some_checks
from support.gpu_node import BOOTED, JOURNAL, QUERY, declared, smi_xml

if TYPE_CHECKING:
    from pathlib import Path


# Two lines of GB200, as leptonai/gpud has them: the signal of a link, which NVIDIA recommends to investigate, and one that it ignores.
SIGNAL = "149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 01 (0x00000226 0x00000002 0x00000000 0x00000000 0x00000000 0x00000000)"
IGNORED = "145, RLW_REMAP Nonfatal XC1 i0 Link -1 (0x00000082 0x00000100 0x00000000 0x00000000 0x00000000 0x00000000)"


def found_in(root: Path, journal: str, query: CommandResult | str, test: str = "test_kernel_log", **variables: Any) -> dict[str, Finding]:
    source = InventedNode(root, {QUERY: query, JOURNAL: BOOTED + journal})
    return run_some_checks(module, declared("hardware", **variables), source, (test,))


def failed(root: Path, journal: str, query: CommandResult | str) -> dict[str, Finding]:
    return {k: f for k, f in found_in(root, journal, query).items() if f.outcome is Outcome.FAIL}


def warned(root: Path, journal: str, **variables: Any) -> dict[str, Finding]:
    return {k: f for k, f in found_in(root, journal, smi_xml(), **variables).items() if f.outcome is Outcome.WARN}


def line(bus: str, code: int) -> str:
    return logged(bus, f"{code}, x")


def logged(bus: str, text: str) -> str:
    return f"2026-11-20T09:00:00+00:00 kernel: NVRM: Xid (PCI:0000:{bus}:00): {text}\n"


def test_each_xid_is_a_finding_of_its_gpu_with_its_action(tmp_path: Path) -> None:
    journal = "".join(line(bus, code) for bus, code in (("05", 13), ("0a", 119), ("0a", 48), ("ff", 48)))
    found = failed(tmp_path, journal, smi_xml())
    of_gpu = {"hardware.gpu[2].xid[119]", "hardware.gpu[2].xid[48]"}
    assert set(found) == {"hardware.xids", "hardware.xid[119]", "hardware.xid[48]", *of_gpu}
    own = found["hardware.gpu[2].xid[119]"]
    assert own.severity is Severity.CRITICAL
    assert found["hardware.gpu[2].xid[48]"].hint.startswith("XID 48: reset the GPU to apply the row remapping")
    assert own.hint.startswith("XID 119: drain the node, reset the GPU")
    assert "119 at 0000:0a:00" in own.found


def test_an_xid_has_no_gpu_where_nvidia_smi_fails(tmp_path: Path) -> None:
    lost = CommandResult(15, stdout="Unable to determine the device handle for GPU2: 0000:0A:00.0: Unknown Error\n")
    assert set(failed(tmp_path, line("0a", 79), lost)) == {"hardware.xids", "hardware.xid[79]"}


def test_an_xid_that_the_vendor_recommends_to_look_into_is_a_warning_with_its_advice(tmp_path: Path) -> None:
    found = warned(tmp_path, logged("0a", SIGNAL) + logged("0b", IGNORED))
    assert set(found) == {"hardware.xids", "hardware.xid[149]", "hardware.gpu[2].xid[149]"}
    assert all("signal of link 1" in f.hint for f in found.values())
    assert "149 at 0000:0a:00" in found["hardware.xids"].found
    assert "145" not in found["hardware.xids"].found


def test_an_xid_that_is_a_warning_stays_one_beside_another_that_fails(tmp_path: Path) -> None:
    journal = logged("0a", SIGNAL) + line("0b", 79)
    assert set(warned(tmp_path, journal)) == {"hardware.xid[149]", "hardware.gpu[2].xid[149]"}
    assert {"hardware.xids", "hardware.xid[79]"} <= set(failed(tmp_path, journal, smi_xml()))


def test_a_tolerated_xid_is_no_warning(tmp_path: Path) -> None:
    assert not warned(tmp_path, logged("0a", SIGNAL), hardware_xids_tolerated=[149])


def test_an_uncorrected_pcie_error_is_a_finding_of_its_gpu(tmp_path: Path) -> None:
    contained = "pcieport 0000:00:01.0: DPC: containment event, status:0x200d, ERR_FATAL received from 0000:0a:00.0"
    found = found_in(tmp_path, f"2026-11-20T09:00:00+00:00 kernel: {contained}\n", smi_xml(), "test_machine_errors")
    failing = {k: f for k, f in found.items() if f.outcome is Outcome.FAIL}
    assert set(failing) == {"hardware.aer.fatal", "hardware.gpu[2].aer"}
    assert failing["hardware.gpu[2].aer"].severity is Severity.CRITICAL
    assert failing["hardware.gpu[2].aer"].hint.startswith("drain the node, power it off and reseat the device")
