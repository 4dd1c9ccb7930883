"""Errors of adapters and their modules in the kernel log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_hardware as module
from clusterctl_validators.adapter_errors import LOG_PATTERN, parse
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record, distinct
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode
from support.gpu_node import JOURNAL, declared, lay_hcas

if TYPE_CHECKING:
    from pathlib import Path

HCAS = [{"name": f"mlx5_{i}", "link_layer": "Ethernet", "rate_gbps": 400} for i in range(8)]
ADDRESS, OTHER = "0000:64:00.0", "0000:5c:00.0"
# Lines of NVIDIA/NVSentinel's and leptonai/gpud's tests, and of public logs of ConnectX-6 to ConnectX-8.
LOST = (
    "mlx5_core 0000:64:00.0: poll_health:825:(pid 0): device's health compromised - reached miss count.",
    "mlx5_core 0000:64:00.0: wait_func:1195:(pid 1967079): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource",
    "mlx5_core 0000:64:00.0: cb_timeout_handler:877:(pid 9): cmd[3]: ACCESS_REG(0x805) Async, timeout. Will cause a leak of a command resource",
    "mlx5_core 0000:64:00.0: print_health_info:431:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
    "mlx5_core 0000:64:00.0: Health issue observed, High temperature, severity(2) CRITICAL:",
    "mlx5_core 0000:64:00.0: poll_health:1083:(pid 0): Fatal error 1 detected",
    "mlx5_core 0000:64:00.0: print_health_info:491:(pid 0): PCI slot is unavailable",
    "mlx5_core 0000:64:00.0: mlx5_health_try_recover:335:(pid 3): health recovery flow aborted, PCI reads still not working",
    "mlx5_core 0000:64:00.0: mlx5_health_try_recover: health recovery failed",
    "mlx5_core 0000:64:00.0: mlx5_function_setup:1236:(pid 182): Firmware over 120000 MS in pre-initializing state, aborting",
)
# Each with what a person looks at first.
WARNED = {
    "mlx5_core 0000:64:00.0: Port module event[error]: module 0, Cable error, High Temperature": "check fans and inlet",
    "mlx5_core 0000:64:00.0: mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 0, Cable error, Bad or shorted cable/module": "reseat the cable",
    "mlx5_core 0000:64:00.0: mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 1, Cable error, Power budget exceeded": "use a module of a power class",
    "mlx5_core 0000:64:00.0: temp_warn:304:(pid 0): High temperature on sensors with bit set 0x0000000000000001": "check fans and inlet",
    "mlx5_core 0000:64:00.0: print_health_info:431:(pid 0): Health issue observed, High temperature, severity(4) WARNING:": "check fans and inlet",
    "mlx5_core 0000:64:00.0: print_health_info:431:(pid 0): Health issue observed, firmware internal error, severity(5) NOTICE:": "update the firmware",
    "mlx5_core 0000:64:00.0: mlx5_pci_err_detected Device state = 1 health sensors: 1 pci_status: 1. Enter, pci channel state = 2": "reseat the adapter",
    "mlx5_core 0000:64:00.0: mlx5_pcie_event:299:(pid 268269): Detected insufficient power on the PCIe slot (27W).": "check the auxiliary power cable",
}
NOTHING = (
    "mlx5_core 0000:64:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:64:00.0: mlx5_pcie_event:297:(pid 11): PCIe slot power capability was not advertised.",
    "mlx5_core 0000:64:00.0: mlx5_cmd_out_err:838:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, status bad resource(0x5), syndrome (0x305684), err(-22)",
    "mlx5_core 0000:64:00.0: mlx5_pci_err_detected Device state = 2 pci_status: 0. Exit, result = 3, need reset",
    "mlx5_core 0000:64:00.0: poll_health:1083:(pid 0): Fatal error 4 detected",
    "mlx5_core 0000:64:00.0: poll_health:803:(pid 3021): Fatal error 3 detected",
    "mlx5_core 0000:64:00.0: mlx5_health_try_recover:353:(pid 3): health recovery succeeded",
    "mlx5_core 0000:64:00.0: firmware version: 28.43.1014",
    "Memory cgroup out of memory: Killed process 7 (mlx5_core 0000:64:00.0: device's health compromised - reached miss count)",
)


def line(text: str) -> str:
    return f"2026-11-20T09:00:00+00:00 kernel: {text}\n"


def check(root: Path, *texts: str, **variables: Any) -> dict[str, Finding]:
    lay_hcas(root)
    for index in range(8):
        bus = f"0000:{0x61 + index:02x}"
        (root / f"sys/devices/pci{bus}/0000:00:01.0/{bus}:00.0/uevent").write_text(f"PCI_SLOT_NAME={bus}:00.0\n")
    record = Record("hardware")
    spec = SpecView("hardware", declared("hardware", **{"hardware_hcas": HCAS, **variables}))
    journal = line("Linux version 6.8.0-60-generic (buildd@lcy02)") + "".join(map(line, texts))
    module.test_link_log(spec=spec, record=record, probe=Probe(InventedNode(root, {JOURNAL: journal})))
    return {f.check: f for f in distinct(record.findings)}


@pytest.mark.parametrize("text", LOST)
def test_an_adapter_that_failed(tmp_path: Path, text: str) -> None:
    assert [(e.device, e.recovered) for e in parse(line(text))] == [(ADDRESS, False)]
    found = check(tmp_path, text)
    bad = {name: f for name, f in found.items() if name.endswith("].log") and f.outcome is not Outcome.PASS}
    assert [(name, f.outcome, f.severity) for name, f in bad.items()] == [("hardware.hca[mlx5_3].log", Outcome.FAIL, Severity.CRITICAL)]
    assert len([name for name in found if name.endswith("].log")]) == len(HCAS)


@pytest.mark.parametrize("text", WARNED)
def test_an_adapter_or_a_module_that_went_on(tmp_path: Path, text: str) -> None:
    assert [(e.device, e.recovered) for e in parse(line(text))] == [(ADDRESS, True)]
    found = check(tmp_path, text)["hardware.hca[mlx5_3].log"]
    assert found.outcome is Outcome.WARN
    assert found.hint.startswith(WARNED[text])


def test_each_kind_of_error_has_its_action_once(tmp_path: Path) -> None:
    hint = check(tmp_path, *WARNED, *WARNED)["hardware.hca[mlx5_3].log"].hint
    actions = [e.action for e in parse("".join(map(line, WARNED)))]
    assert hint == "; ".join(dict.fromkeys(actions))


@pytest.mark.parametrize("text", NOTHING)
def test_lines_about_neither(text: str) -> None:
    assert parse(line(text)) == ()


def test_an_adapter_that_is_not_declared_is_not_judged(tmp_path: Path) -> None:
    found = check(tmp_path, LOST[0].replace(ADDRESS, OTHER))
    assert {f.outcome for name, f in found.items() if name.endswith("].log")} == {Outcome.PASS}


@pytest.mark.parametrize("text", [*LOST, *WARNED])
def test_a_node_sends_every_line_that_the_burn_in_judges(text: str) -> None:
    assert re.search(LOG_PATTERN, f"[  400.000001] {text}")
