"""XIDs of the kernel log as findings of their GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.probe import CommandResult
from support.checks import InventedNode, run_some_checks
from support.gpu_node import BOOTED, JOURNAL, QUERY, declared, smi_xml

if TYPE_CHECKING:
    from pathlib import Path


def failed(root: Path, journal: str, query: CommandResult | str) -> dict[str, Finding]:
    source = InventedNode(root, {QUERY: query, JOURNAL: BOOTED + journal})
    found = run_some_checks(module, declared("hardware"), source, ("test_kernel_log",))
    return {k: f for k, f in found.items() if f.outcome is Outcome.FAIL}


def line(bus: str, code: int) -> str:
    return f"2026-11-20T09:00:00+00:00 kernel: NVRM: Xid (PCI:0000:{bus}:00): {code}, x\n"


def test_an_xid_is_a_finding_of_its_gpu_with_the_first_action(tmp_path: Path) -> None:
    journal = "".join(line(bus, code) for bus, code in (("05", 13), ("0a", 119), ("0a", 48), ("ff", 48)))
    found = failed(tmp_path, journal, smi_xml())
    assert set(found) == {"hardware.xids", "hardware.xid[119]", "hardware.xid[48]", "hardware.gpu[2].xids"}
    own = found["hardware.gpu[2].xids"]
    assert own.severity is Severity.CRITICAL
    assert own.hint.startswith("XID 119: drain the node, reset the GPU")
    assert "119 at 0000:0a:00" in own.found


def test_an_xid_has_no_gpu_where_nvidia_smi_fails(tmp_path: Path) -> None:
    lost = CommandResult(15, stdout="Unable to determine the device handle for GPU2: 0000:0A:00.0: Unknown Error\n")
    assert set(failed(tmp_path, line("0a", 79), lost)) == {"hardware.xids", "hardware.xid[79]"}
