from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusterctl_tools.boot_order import BootOption
from clusterctl_tools.chassis_part import ChassisPart
from clusterctl_validators import test_bios as checks
from clusterctl_validators.bmc_view import BmcView
from clusterctl_validators.finding import Finding, Outcome, Severity
from clusterctl_validators.off_node import check_role

CURRENT = {
    "SysProfile": "PerfOptimized",
    "ProcCStates": "Enabled",
    "SMTControl_00CB": "Auto",
    "SMTControl_703E": "Disable",
    "QuietBoot": True,
}


def findings(attributes: list[dict[str, Any]], **more: Any) -> dict[str, Finding]:
    pins = more.pop("pins", [])
    variables = {
        "bios_attributes": {"dell": attributes, "hpe": None},
        "bios_overrides": more.pop("overrides", {}),
        "bios_firmware_pins": {"dell": pins},
        "bios_boot_order": more.pop("boot_order", []),
        "bios_leak_detectors": {"dell": more.pop("detectors", {}), "hpe": {"C": 99}},
        "bios_chassis_health": more.pop("health", []),
    }
    kept = (more.pop("pending", {}), more.pop("firmware", {}))
    listed = more.pop("listed", ())
    orders = {"boot_order": listed, "pending_boot_order": more.pop("listed_next", listed), "boot_override": more.pop("override", "")}
    view = BmcView(more.pop("vendor", "dell"), more.pop("current", CURRENT), *kept, **orders, leak_detectors=more.pop("leaks", {}))
    view = replace(view, chassis_parts=more.pop("parts", {}))
    return {f.check: f for f in check_role("bios", variables, view)}


def outcomes(name: str, value: object, **more: Any) -> tuple[Outcome, Outcome]:
    found = findings([{"name": name, "value": value}], **more)
    return found[f"bios.attributes[{name}].current"].outcome, found[f"bios.attributes[{name}].pending"].outcome


GOOD, BAD = Outcome.PASS, Outcome.FAIL


def test_role_is_the_one_of_the_module() -> None:
    assert checks.ROLE == "bios"


CASES: list[tuple[str, object, dict[str, Any], tuple[Outcome, Outcome]]] = [
    ("SysProfile", "PerfOptimized", {}, (GOOD, GOOD)),
    ("ProcCStates", "Disabled", {}, (BAD, BAD)),
    ("ProcCStates", "Disabled", {"ProcCStates": "Disable"}, (BAD, GOOD)),
    ("ProcCStates", "Enable", {"ProcCStates": "Disabled"}, (GOOD, BAD)),
    ("ProcCStates", "Enable", {"ProcCStates": None}, (GOOD, GOOD)),
    ("SMTControl", "Disable", {}, (BAD, BAD)),
    ("SMTControl", "Disable", {"SMTControl_00CB": "Disabled"}, (BAD, GOOD)),
    ("QuietBoot", "Enabled", {}, (GOOD, GOOD)),
    ("QuietBoot", False, {}, (BAD, BAD)),
    ("NoSuchKnob", "x", {}, (BAD, BAD)),
]


@pytest.mark.parametrize(("name", "value", "pending", "expected"), CASES)
def test_both_the_value_in_force_and_the_pending_one_are_judged(
    name: str, value: object, pending: dict[str, Any], expected: tuple[Outcome, Outcome]
) -> None:
    assert outcomes(name, value, pending=pending) == expected


def test_a_finding_mentions_a_pending_reset() -> None:
    found = findings([{"name": "ProcCStates", "value": "Disabled"}], pending={"ProcCStates": "Disabled"})
    assert found["bios.attributes[ProcCStates].current"].hint == "a reset is pending that applies it"


def test_attributes_with_different_values_are_listed() -> None:
    found = findings([{"name": "SMTControl", "value": "Disable"}])["bios.attributes[SMTControl].current"]
    assert found.found == "SMTControl_00CB=Auto, SMTControl_703E=Disable"


def test_an_optional_attribute_may_be_absent_and_another_name_counts() -> None:
    found = findings([{"name": "A", "value": 1, "optional": True}, {"name": "B", "also": ["QuietBoot"], "value": True}])
    assert found["bios.attributes[A].current"].outcome is Outcome.NOT_APPLICABLE
    assert found["bios.attributes[B].current"].outcome is GOOD


def test_overrides_are_applied() -> None:
    found = findings([{"name": "SysProfile", "value": "Custom"}], overrides={"SysProfile": None, "ProcCStates": "Enabled"})
    assert [c for c in found if "attributes[" in c and "vendor" not in c] == [
        "bios.attributes[ProcCStates].current",
        "bios.attributes[ProcCStates].pending",
    ]


@pytest.mark.parametrize("vendor", ["hpe", "lenovo", ""])
def test_a_machine_of_a_vendor_without_attributes_was_not_verified(vendor: str) -> None:
    found = findings([{"name": "SysProfile", "value": "Custom"}], vendor=vendor)
    assert found["bios.vendor[bios_attributes]"].outcome is BAD


def test_firmware_of_a_machine_of_an_unknown_vendor_was_not_verified() -> None:
    pins = {"dell": [{"name": "it", "ids": ["BIOS"], "version": "1.4"}]}
    for vendor, outcome in (("", BAD), ("hpe", Outcome.NOT_APPLICABLE), ("dell", GOOD)):
        found = check_role(
            "bios", {"bios_attributes": {}, "bios_overrides": {}, "bios_firmware_pins": pins}, BmcView(vendor, firmware=FIRMWARE)
        )
        assert {f.check: f.outcome for f in found}["bios.vendor[bios_firmware_pins]"] is outcome


FIRMWARE = {"GPU_1": "96.00.61", "GPU_2": "96.00.74", "BIOS": "1.4"}
PINS: list[tuple[dict[str, Any], Outcome, str]] = [
    ({"ids": ["BIOS"], "version": "1.4"}, GOOD, "BIOS 1.4"),
    ({"ids": ["BIOS"], "version": "1.5"}, BAD, "BIOS 1.4"),
    ({"ids": ["GPU_*"], "version": "96.00.74"}, BAD, "GPU_1 96.00.61"),
    ({"ids": ["GPU_*"], "minimum": "96.00.61"}, GOOD, "GPU_1 96.00.61, GPU_2 96.00.74"),
    ({"ids": ["GPU_*"], "minimum": "96.0.70", "version": ""}, BAD, "GPU_1 96.00.61"),
    ({"ids": ["CPLD"], "version": "1"}, BAD, "none of CPLD"),
]


@pytest.mark.parametrize(("pin", "outcome", "shown"), PINS)
def test_firmware_is_compared_with_its_pin(pin: dict[str, Any], outcome: Outcome, shown: str) -> None:
    found = findings([], pins=[{"name": "it", **pin}], firmware=FIRMWARE)["bios.firmware[it]"]
    assert (found.outcome, found.found) == (outcome, shown)


def test_a_check_that_raises_could_not_run() -> None:
    found = check_role("bios", {"bios_overrides": {}, "bios_firmware_pins": {}, "bios_boot_order": []}, BmcView("dell"))
    assert {f.check: f.outcome for f in found}["bios.test_attributes"] is Outcome.COULD_NOT_RUN


def test_nothing_declared_is_recorded_as_not_applicable() -> None:
    found = check_role(
        "bios",
        {
            "bios_attributes": {},
            "bios_overrides": {},
            "bios_firmware_pins": {},
            "bios_boot_order": [],
            "bios_leak_detectors": {},
            "bios_chassis_health": [],
        },
        BmcView(""),
    )
    assert {f.outcome for f in found} == {Outcome.NOT_APPLICABLE}


DISK, PXE = BootOption("Boot0011", "Ubuntu", "HD(1,GPT,7909D246)/EFI"), BootOption("Boot0003", "UEFI PXEv4 (MAC:EEA3AB6B5303)")
GONE = replace(DISK, usable=False)
ORDERS: list[tuple[list[str], list[BootOption], bool]] = [
    (["disk"], [DISK, PXE], True),
    (["disk"], [PXE, DISK], False),
    (["disk", "network"], [GONE, PXE], False),
    (["network"], [PXE, DISK], True),
    (["disk"], [], False),
    (["Ub*"], [DISK, PXE], True),
    (["Boot0003", "disk"], [DISK, PXE], False),
]


@pytest.mark.parametrize(("declared", "listed", "good"), ORDERS)
def test_the_boot_order_in_force_and_the_pending_one_are_judged(declared: list[str], listed: list[BootOption], good: bool) -> None:
    found = findings([], boot_order=declared, listed=listed)
    assert [found[f"bios.boot_order.{w}"].outcome is GOOD for w in ("current", "pending")] == [good, good]


def test_a_pending_boot_order_is_a_difference_with_a_reset_as_its_cure() -> None:
    found = findings([], boot_order=["disk"], listed=[PXE, DISK], listed_next=[DISK, PXE])
    assert (found["bios.boot_order.current"].outcome, found["bios.boot_order.pending"].outcome) == (BAD, GOOD)
    assert found["bios.boot_order.current"].found.startswith("UEFI PXEv4")
    assert "a reset is pending" in found["bios.boot_order.current"].hint


OVERRIDES: list[tuple[list[str], str, Outcome]] = [
    (["disk"], "", GOOD),
    (["disk"], "Hdd", GOOD),
    (["disk"], "Pxe", BAD),
    (["disk"], "UefiHttp", BAD),
    (["disk"], "BiosSetup", BAD),
    (["network", "disk"], "Pxe", GOOD),
    (["network", "disk"], "Hdd", BAD),
    (["Ub*"], "Hdd", GOOD),
    (["Boot0003"], "Hdd", BAD),
]


@pytest.mark.parametrize(("declared", "target", "outcome"), OVERRIDES)
def test_an_override_that_directs_the_next_boot_elsewhere_fails(declared: list[str], target: str, outcome: Outcome) -> None:
    found = findings([], boot_order=declared, listed=[DISK, PXE], override=target)["bios.boot_order.override"]
    assert (found.outcome, found.found) == (outcome, target or "none")


def test_an_override_as_declared_passes_where_no_option_of_its_kind_is_listed() -> None:
    assert findings([], boot_order=["disk"], listed=[PXE], override="Hdd")["bios.boot_order.override"].outcome is GOOD


def test_without_a_declared_order_no_override_is_judged() -> None:
    assert "bios.boot_order.override" not in findings([], override="Pxe")


LEAKS: list[tuple[str, dict[str, int], dict[str, dict[str, str]], tuple[Outcome, Severity, str]]] = [
    ("dry", {"C": 2}, {"C": {"A": "OK", "B": "OK"}}, (GOOD, Severity.MAJOR, "2 OK")),
    ("more than declared", {"C": 1}, {"C": {"A": "OK", "B": "OK"}}, (GOOD, Severity.MAJOR, "2 OK")),
    ("critical", {"C": 2}, {"C": {"A": "OK", "B": "Critical"}}, (BAD, Severity.CRITICAL, "B Critical")),
    ("warning", {"C": 2}, {"C": {"A": "Warning", "B": "OK"}}, (BAD, Severity.CRITICAL, "A Warning")),
    ("not stated", {"C": 1}, {"C": {"A": ""}}, (BAD, Severity.MAJOR, "A unknown")),
    ("does not measure", {"C": 2}, {"C": {"A": "Fault", "B": "OK"}}, (BAD, Severity.MAJOR, "A Fault")),
    ("one wet, one does not measure", {"C": 2}, {"C": {"A": "Fault", "B": "Warning"}}, (BAD, Severity.CRITICAL, "B Warning, A Fault")),
    ("one of more than declared", {"C": 1}, {"C": {"A": "OK", "B": "Critical"}}, (BAD, Severity.CRITICAL, "B Critical")),
    ("one missing", {"C": 2}, {"C": {"A": "OK"}}, (BAD, Severity.MAJOR, "1 OK")),
    ("no such chassis", {"C": 2}, {}, (BAD, Severity.MAJOR, "0 OK")),
    ("none required", {"C": 0}, {}, (GOOD, Severity.MAJOR, "0 OK")),
    ("none required, one wet", {"C": 0}, {"C": {"A": "Critical"}}, (BAD, Severity.CRITICAL, "A Critical")),
]


@pytest.mark.parametrize(("declared", "states", "expected"), [case[1:] for case in LEAKS], ids=[case[0] for case in LEAKS])
def test_every_declared_leak_detector_is_in_place_and_dry(
    declared: dict[str, int], states: dict[str, dict[str, str]], expected: tuple[Outcome, Severity, str]
) -> None:
    found = findings([], detectors=declared, leaks=states)["bios.leak_detectors[C]"]
    assert (found.outcome, found.severity, found.found) == expected
    assert bool(found.hint) == (found.outcome is BAD)


PARTS: list[tuple[str, list[ChassisPart], str, str, str]] = [
    ("all work", [ChassisPart("PSU1", "OK"), ChassisPart("PSU2", "OK")], "pass", "2 OK", ""),
    ("not stated", [ChassisPart("PSU1", "")], "not_applicable", "", ""),
    ("one failed", [ChassisPart("PSU1", "OK"), ChassisPart("PSU2", "Critical")], "fail", "PSU2 Critical", "reseat the power supply"),
    (
        "without input",
        [ChassisPart("PSU1", "Critical", without_input=True)],
        "fail",
        "PSU1 Critical, without input",
        "check cord and outlet",
    ),
    ("lost input is not stated as critical", [ChassisPart("PSU1", "", without_input=True)], "fail", "PSU1 without input", "check cord"),
    ("one is weak", [ChassisPart("PSU1", "Warning"), ChassisPart("PSU2", "OK")], "warn", "PSU1 Warning", "reseat the power supply"),
    ("one failed, one is weak", [ChassisPart("PSU1", "Warning"), ChassisPart("PSU2", "Critical")], "fail", "PSU2 Critical", "reseat the"),
    ("none is shown", [], "not_applicable", "", ""),
]


@pytest.mark.parametrize(("parts", "outcome", "shown", "hint"), [case[1:] for case in PARTS], ids=[case[0] for case in PARTS])
def test_power_supplies_that_are_in_place_work(parts: list[ChassisPart], outcome: str, shown: str, hint: str) -> None:
    found = findings([], health=["power_supplies"], parts={"power_supplies": parts})
    assert (found["bios.power_supplies"].outcome.value, found["bios.power_supplies"].found) == (outcome, shown)
    assert found["bios.power_supplies"].hint.startswith(hint)
    assert bool(found["bios.power_supplies"].hint) == bool(hint)
    assert found["bios.fans"].reason == "bios_chassis_health does not list fans"


def test_a_failed_fan_fails_the_node() -> None:
    found = findings([], health=["fans"], parts={"fans": [ChassisPart("FAN1", "Critical"), ChassisPart("FAN2", "OK")]})["bios.fans"]
    assert (found.outcome, found.found, found.hint.partition(",")[0]) == (BAD, "FAN1 Critical", "reseat the fan")
