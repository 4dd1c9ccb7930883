"""Checks of the hardware know GPUs through one reader: with another vendor's, they run another tool and name it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl_tools.gpu import EccCounts, Gpu, GpuLog, UnreadableGpuError
from clusterctl_validators import hardware_kernel_log, nvidia, test_hardware
from clusterctl_validators.finding import GOOD, Finding, Outcome
from clusterctl_validators.gpu import GpuEvent, GpuEvents
from support.checks import run_checks
from support.gpu_node import BOOTED, JOURNAL, declared

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = EccCounts(0, 0, 0, 0)
FIELDS = {
    name: None for name in Gpu.__dataclass_fields__ if name not in {"index", "bus_id", "serial", "model", "vbios", "volatile", "aggregate"}
}
CARD = replace(
    Gpu(index=0, bus_id="03:00.0", serial="7", model="Card X", vbios="1", volatile=NOTHING, aggregate=NOTHING, **FIELDS),
    ecc_current="Enabled",
    ecc_pending="Disabled",
    memory_mib=100,
)


class OtherReader:
    tool = "other-smi"
    near_paths = frozenset({"SWITCH"})
    advice = replace(nvidia.ADVICE, missing="reseat the card")

    def __init__(self, events: tuple[GpuEvent, ...] = ()) -> None:
        self._events = events

    def query(self) -> GpuLog:
        return GpuLog("6.4", "", 1, (CARD,))

    def on_pci(self) -> list[str]:
        return []

    def active_links(self) -> dict[int, dict[int, float]]:
        raise UnreadableGpuError("other-smi exit 3: no links")

    def link_losses(self) -> dict[int, dict[int, int]]:
        return {}

    def hca_paths(self) -> dict[str, dict[int, str]]:
        return {"mlx5_0": {0: "FAR"}}

    def events(self) -> GpuEvents:
        return GpuEvents(self._events, ())

    def ecc_command(self, index: int, enabled: bool) -> str:
        return f"other-smi ecc {index} {enabled}"

    def power_command(self, index: int, limit_w: float) -> str:
        return f"other-smi power {index} {limit_w:g}"


def check(root: Path, monkeypatch: pytest.MonkeyPatch, *events: GpuEvent) -> dict[str, Finding]:
    for asking in (test_hardware, hardware_kernel_log):
        monkeypatch.setattr(asking, "reader_of", lambda *_: OtherReader(events))
    hca = {"name": "mlx5_0", "rate_gbps": 400, "link_layer": "InfiniBand", "gpu": 0}
    return run_checks(
        test_hardware, declared("hardware", hardware_gpus=1, hardware_hcas=[hca], hardware_memory_min_gib=0), root, {JOURNAL: BOOTED}
    )


def test_findings_and_hints_come_from_the_vendors_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = check(tmp_path, monkeypatch)
    assert (findings["hardware.gpus.on_pci"].found, findings["hardware.gpus.on_pci"].hint) == ("0", "reseat the card")
    assert findings["hardware.gpus.count"].outcome is Outcome.PASS
    assert findings["hardware.gpu[0].model"].found == "Card X"
    assert findings["hardware.gpu[0].pcie_width"].reason == "other-smi does not report it"
    assert "other-smi ecc 0 True, then reboot" in findings["hardware.gpu[0].ecc_mode.persisted"].hint
    assert findings["hardware.gpus.nvlinks"].reason == "other-smi exit 3: no links"
    assert (findings["hardware.hca[mlx5_0].gpu"].expected, findings["hardware.hca[mlx5_0].gpu"].found) == ("SWITCH", "FAR")
    assert findings["hardware.xids"].outcome is Outcome.PASS
    assert not [f for f in findings.values() if "nvidia-smi" in f.reason + f.hint]


@pytest.mark.parametrize("harmless", [True, False])
def test_the_vendor_decides_which_errors_require_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harmless: bool) -> None:
    event = GpuEvent("2026-03-14T09:00:00", "03:00.0", 5, "page fault", harmless, "reset the card")
    found = check(tmp_path, monkeypatch, event)
    assert (found["hardware.xids"].outcome in GOOD) is harmless
    assert ("hardware.xid[5]" in found) is not harmless
    if not harmless:
        assert found["hardware.xid[5]"].hint == "XID 5: reset the card"
