"""The role bios, run by ansible-playbook against a fake BMC on loopback that applies changes at a reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.bios_play import run_bios_role
from support.redfish_bmc import PASSWORD, Bmc
from support.redfish_tree import invented, recorded_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

ONE_RESET = {
    "dell": [{"name": "LogicalProc", "value": "Disable"}, {"name": "SMTControl", "value": "Disabled"}, {"name": "QuietBoot", "value": True}]
}
TWO_RESETS = {"dell": [{"name": "SysProfile", "value": "Custom"}, {"name": "ProcCStates", "value": "Disabled"}]}


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[Bmc]:
    with Bmc(invented(), tmp_path / "bmc") as one:
        yield one


def test_a_change_is_shown_in_check_mode_then_pending_then_current(bmc: Bmc, tmp_path: Path) -> None:
    dry = run_bios_role(bmc, tmp_path / "play", check=True, bios_attributes=ONE_RESET)
    assert dry.ok, dry.output
    assert dry.changed == 1
    assert "LogicalProc: Enabled -> Enabled -> Disabled" in dry.output
    assert "-LogicalProc: current Enabled, pending Enabled" in dry.output
    assert "+LogicalProc: current Enabled, pending Disabled" in dry.output
    assert bmc.writes == []

    first = run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET)
    assert (first.ok, first.changed, first.reboot, first.again) == (True, 1, True, True), first.output
    assert bmc.pending == {"LogicalProc": "Disabled", "SMTControl_00CB": "Disable", "SMTControl_703E": "Disable"}
    assert bmc.current["LogicalProc"] == "Enabled"
    assert bmc.writes[0]["@Redfish.SettingsApplyTime"]["ApplyTime"] == "OnReset"

    second = run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET)
    assert (second.ok, second.changed, second.reboot) == (True, 0, True), second.output
    assert "LogicalProc: Enabled -> Disabled -> Disabled (waits for a reset)" in second.output

    bmc.reset()
    third = run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET)
    assert (third.ok, third.changed, third.reboot, third.again) == (True, 0, False, False), third.output
    assert bmc.current["LogicalProc"] == "Disabled"
    assert len(bmc.writes) == 1


def test_attributes_controlled_by_a_preset_need_two_resets_which_are_announced(bmc: Bmc, tmp_path: Path) -> None:
    first = run_bios_role(bmc, tmp_path / "play", bios_attributes=TWO_RESETS)
    assert (first.ok, first.changed, first.reboot, first.again) == (True, 1, True, True), first.output
    assert "2 resets required for the declared state" in first.output
    assert "ProcCStates: Enabled -> Enabled -> Disabled (after reset 1: SysProfile=Custom)" in first.output
    bmc.reset()
    second = run_bios_role(bmc, tmp_path / "play", bios_attributes=TWO_RESETS)
    assert (second.changed, second.reboot, second.again) == (1, True, True), second.output
    bmc.reset()
    third = run_bios_role(bmc, tmp_path / "play", bios_attributes=TWO_RESETS)
    assert (third.ok, third.changed, third.reboot, third.again) == (True, 0, False, False), third.output
    assert [w["Attributes"] for w in bmc.writes] == [{"SysProfile": "Custom"}, {"ProcCStates": "Disabled"}]


def test_without_permission_nothing_is_written(bmc: Bmc, tmp_path: Path) -> None:
    found = run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET, bios_apply=False)
    assert (found.ok, found.changed, found.reboot) == (True, 0, False), found.output
    assert "nothing was written: bios_apply is false" in found.output
    assert bmc.writes == []


def test_a_change_that_the_reset_did_not_apply_is_an_error(bmc: Bmc, tmp_path: Path) -> None:
    bmc.ignores = {"LogicalProc"}
    assert run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET).ok
    bmc.bios["@Redfish.Settings"]["Messages"] = [{"Message": "Needs a newer ME.", "RelatedProperties": ["/Attributes/LogicalProc"]}]
    bmc.reset()
    found = run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET)
    assert not found.ok
    assert "LogicalProc: 'Disabled' was written, is no longer pending, but 'Enabled' is in force (BMC: Needs a newer ME.)" in found.output
    assert "SMTControl_00CB: 'Disable' was written" not in found.output


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("unknown", {"bios_attributes": {"dell": [{"name": "LogicalProk", "value": 1}]}}, "no such attribute; did you mean LogicalProc?"),
    ("bad-value", {"bios_attributes": {"dell": [{"name": "LogicalProc", "value": "Sometimes"}]}}, "not one of Enabled, Disabled"),
    (
        "locked",
        {"bios_attributes": {"dell": [{"name": "ProcCStates", "value": "Disabled"}]}},
        "locked, SysProfile=PerfPerWattOptimizedDapc",
    ),
    (
        "other-vendor",
        {"bios_attributes": {"hpe": [{"name": "WorkloadProfile", "value": "Custom"}]}},
        "no attributes are declared for vendor 'dell'",
    ),
    ("firmware", {"bios_firmware_pins": {"dell": [{"name": "bios", "ids": ["Installed-*BIOS*"], "version": "1.9"}]}}, "expected 1.9"),
    ("no-pin", {"bios_firmware_pins": {"dell": [{"name": "bios", "ids": ["Installed-*BIOS*"]}]}}, "needs either version or minimum"),
    ("password", {"bios_attributes": ONE_RESET, "bmc_password": "wrong-one"}, "HTTP 401"),
    ("http", {"bios_attributes": ONE_RESET, "bmc_url": "http://127.0.0.1:1"}, "set bmc_url"),
    ("certificate", {"bios_attributes": ONE_RESET, "bmc_ca_file": ""}, "certificate"),
    ("gone", {"bios_attributes": ONE_RESET, "bmc_url": "https://127.0.0.1:1"}, "cannot be reached"),
    ("system", {"bios_attributes": ONE_RESET, "bios_system": "Node.2"}, "set bios_system"),
]


@pytest.mark.parametrize(("variables", "why"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_an_invalid_declaration_fails_with_the_reason_and_writes_nothing(
    bmc: Bmc, tmp_path: Path, variables: dict[str, Any], why: str
) -> None:
    found = run_bios_role(bmc, tmp_path / "play", **variables)
    assert not found.ok
    assert why in found.output
    assert bmc.writes == []


def test_a_refusal_of_the_bmc_is_reported(bmc: Bmc, tmp_path: Path) -> None:
    bmc.forbidden = {"LogicalProc"}
    found = run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET)
    assert not found.ok
    assert "the BMC refused LogicalProc=Disabled" in found.output
    assert "HTTP 400: The property LogicalProc may not be changed." in found.output


def test_overrides_of_a_site_replace_add_and_remove_attributes(bmc: Bmc, tmp_path: Path) -> None:
    overrides = {"LogicalProc": "Enabled", "SriovGlobalEnable": "Enabled", "SMTControl": None}
    assert run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET, bios_overrides=overrides).ok
    assert bmc.pending == {"SriovGlobalEnable": "Enabled"}


def test_without_declared_attributes_the_bmc_is_not_queried(bmc: Bmc, tmp_path: Path) -> None:
    found = run_bios_role(bmc, tmp_path / "play", bmc_url="")
    assert (found.ok, found.changed, found.reboot, found.again) == (True, 0, False, False), found.output
    assert bmc.requests == []


def test_the_certificate_is_not_verified_only_if_the_site_disables_it(bmc: Bmc, tmp_path: Path) -> None:
    pins = {"dell": [{"name": "bios", "ids": ["Installed-*BIOS*"], "version": "1.8.2"}]}
    found = run_bios_role(bmc, tmp_path / "play", bios_firmware_pins=pins, bmc_ca_file="", bios_verify_certificates=False)
    assert found.ok, found.output


def test_the_password_is_in_no_output_and_no_file(bmc: Bmc, tmp_path: Path) -> None:
    pins = {"dell": [{"name": "bios", "ids": ["Installed-*BIOS*"], "version": "1.8.2"}]}
    runs = [run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET, bios_firmware_pins=pins)]
    bmc.down = True
    runs.append(run_bios_role(bmc, tmp_path / "play", bios_attributes=ONE_RESET))
    assert [r.ok for r in runs] == [True, False]
    assert not any(PASSWORD in r.output for r in runs)
    (tmp_path / "play" / "hosts.yml").unlink()
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert any(f.parent.name == "record" for f in files)
    assert [f for f in files if PASSWORD.encode() in f.read_bytes()] == []


SERVERS: list[tuple[str, list[dict[str, Any]], str]] = [
    (
        "libredfish-dell",
        [{"name": "SysProfile", "value": "Custom"}, {"name": "ProcCStates", "value": "Enabled"}],
        "(after reset 1: SysProfile=Custom)",
    ),
    ("libredfish-supermicro", [{"name": "SR-IOVSupport", "value": "Disable"}], "SR_IOVSupport_0047: Enabled -> Enabled -> Disabled"),
    ("libredfish-nvidia_viking", [{"name": "SRIOVEnable", "value": "Disabled"}], "SRIOVEnable: Enable -> Enable -> Disable"),
    (
        "libredfish-nvidia_gb200",
        [{"name": "Socket0Pcie0EnableASPML1", "value": "Disabled"}],
        "Socket0Pcie0EnableASPML1: True -> True -> False",
    ),
    ("libredfish-model/bios_lenovo.json", [{"name": "Processors_CStates", "value": "Disabled"}], "Autonomous -> Autonomous -> Disabled"),
]


@pytest.mark.parametrize(("tree", "attributes", "line"), SERVERS, ids=[s[0] for s in SERVERS])
def test_check_mode_works_with_the_recorded_service_of_a_real_server(
    tmp_path: Path, tree: str, attributes: list[dict[str, Any]], line: str
) -> None:
    vendors = dict.fromkeys(("dell", "supermicro", "ami", "nvidia", "lenovo"), attributes)
    with Bmc(recorded_tree(tree), tmp_path / "bmc", writable=False) as bmc:
        found = run_bios_role(bmc, tmp_path / "play", check=True, bios_attributes=vendors)
        assert found.ok, found.output
        assert line in found.output
        assert ("GET", bmc.settings_path) in [(m, p.rstrip("/")) for m, p in bmc.requests]
        unknown = run_bios_role(
            bmc, tmp_path / "play", check=True, bios_attributes={v: [{"name": "NoSuchKnob", "value": 1}] for v in vendors}
        )
        assert not unknown.ok
        assert "NoSuchKnob: this machine has no such attribute" in unknown.output
        assert not [r for r in bmc.requests if r[0] != "GET"]


def test_a_recorded_dell_registry_needs_two_resets_for_a_change(tmp_path: Path) -> None:
    attributes = {"dell": SERVERS[0][1]}
    with Bmc(recorded_tree("libredfish-dell"), tmp_path / "bmc") as bmc:
        rounds = []
        for _ in range(3):
            found = run_bios_role(bmc, tmp_path / "play", bios_attributes=attributes)
            assert found.ok, found.output
            rounds.append((found.changed, found.reboot, found.again))
            bmc.reset()
        assert rounds == [(1, True, True), (1, True, True), (0, False, False)]
        assert (bmc.current["SysProfile"], bmc.current["ProcCStates"]) == ("Custom", "Enabled")
