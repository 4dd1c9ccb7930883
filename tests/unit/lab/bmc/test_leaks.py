"""A lab tray shows its leak detectors to the check that reads them; an air-cooled machine has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl_lab.bmc import documents
from clusterctl_lab.bmc.bios import factory_bios
from clusterctl_lab.bmc.boot import BootSettings
from clusterctl_lab.bmc.leaks import DETECTORS
from clusterctl_lab.bmc.settings import Settings, load_settings, save_settings
from clusterctl_lab.simulator.hardware_kinds import GB200_NVL72, HGX_H100
from clusterctl_tools.leak_detectors import leak_states
from clusterctl_tools.redfish import ROOT, Redfish
from support.plain_yaml import load_yaml
from support.redfish_bmc import PASSWORD, USER
from support.roles import ROOT as CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    import pytest

    from clusterctl_lab.simulator.hardware import Hardware

CHASSIS = "Chassis.1"


def found(monkeypatch: pytest.MonkeyPatch, hardware: Hardware, wet: Mapping[str, str]) -> dict[str, dict[str, str]]:
    settings = Settings(factory_bios(), BootSettings(), wet)

    def get(_client: Redfish, path: str) -> dict[str, Any]:
        return documents.resource(path, "r31-n01", settings, hardware, on=True) or {}

    monkeypatch.setattr(Redfish, "get", get)
    client = Redfish(BmcAccess("r31-n01", url="https://127.0.0.1", user=USER, password=PASSWORD), 5)
    return leak_states(client, client.get(ROOT), [CHASSIS])


def test_a_tray_has_what_its_profile_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, GB200_NVL72, {}) == {CHASSIS: dict.fromkeys(DETECTORS, "OK")}
    for profile in ("profile_lab_nvl72", "profile_lab_gb200_nvl72"):
        declared = load_yaml((CHECKOUT / f"inventory/lab/group_vars/{profile}/bios.yml").read_text())
        assert declared["bios_leak_detectors"] == {"nvidia": {CHASSIS: len(DETECTORS)}}


def test_a_leak_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    states = found(monkeypatch, GB200_NVL72, {DETECTORS[1]: "Critical"})[CHASSIS]
    assert states == {name: "Critical" if name == DETECTORS[1] else "OK" for name in DETECTORS}


def test_an_air_cooled_machine_has_no_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, HGX_H100, {DETECTORS[0]: "Critical"}) == {CHASSIS: {}}


def test_a_leak_outlives_a_change_of_settings(tmp_path: Path) -> None:
    file = tmp_path / "bmc.json"
    save_settings(file, Settings(factory_bios(), BootSettings(), {DETECTORS[0]: "Warning"}))
    save_settings(file, load_settings(file).after_start(1.0))
    assert load_settings(file).wet == {DETECTORS[0]: "Warning"}
