"""BIOS attributes, boot order, firmware versions, leak detectors, power supplies and fans, from the BMC. Runs on the controller, with the fixture `bmc`."""

from typing import Any, Dict, List, Sequence

from clusterctl_tools.bios import same, version_parts
from clusterctl_tools.boot_order import in_order, meant_first, override_kind, shown
from clusterctl_tools.chassis_part import KINDS, ChassisPart
from clusterctl_tools.leak_rules import leaks, without_reading
from clusterctl_validators.bmc_view import BmcView
from clusterctl_validators.finding import Severity
from clusterctl_validators.record import Record, as_text
from clusterctl_validators.spec_view import SpecView

ROLE = "bios"
SCOPE = "bmc"
BEYOND_ROLE = ("bios.vendor", "bios.firmware", "bios.leak_detectors", "bios.power_supplies", "bios.fans", "bios.boot_order.override")
# Which attributes are read at power-on only on HGX B200 is not confirmed, so each is read back after a warm reboot.
COLD = {"bios.attributes[*].current": "bios.attributes[*].pending"}


def test_attributes(spec: SpecView, record: Record, bmc: BmcView) -> None:
    """`bios.attributes[<name>].current` is the value in force, `.pending` the value after the next reset."""
    for attribute in declared_attributes(spec, bmc.vendor):
        check = "bios.attributes[{}]".format(attribute["name"])
        found = bmc.attributes([attribute["name"], *(attribute.get("also") or [])])
        if not found and attribute.get("optional"):
            record.not_applicable(check + ".current", "this machine has no such attribute, and it is optional")
            continue
        _compare(record, check, attribute["value"], found, bmc)


def test_vendor(spec: SpecView, record: Record, bmc: BmcView) -> None:
    """A machine without declarations for its vendor counts as not verified."""
    for what in ("bios_attributes", "bios_firmware_pins"):
        declared = sorted(v for v, items in (spec[what] or {}).items() if items)
        check = "bios.vendor[{}]".format(what)
        if not declared:
            record.not_applicable(check, "nothing is declared for any vendor")
        elif what == "bios_firmware_pins" and bmc.vendor and bmc.vendor not in declared:
            record.not_applicable(check, "no firmware is pinned for vendor {}".format(bmc.vendor))
        else:
            hint = "declare {} for this vendor, or set bios_vendor".format(what)
            record.ok(
                check,
                (spec[what] or {}).get(bmc.vendor) is not None,
                expected=" or ".join(declared),
                found=bmc.vendor or "unknown",
                hint=hint,
            )


def test_firmware(spec: SpecView, record: Record, bmc: BmcView) -> None:
    """`bios.firmware[<name>]`: every component that a pin matches has the pinned version."""
    for pin in (spec["bios_firmware_pins"] or {}).get(bmc.vendor) or []:
        found = bmc.components(pin["ids"])
        exact, least = pin.get("version") or "", pin.get("minimum") or ""
        expected = exact or "at least " + least
        wrong = {i: v for i, v in found.items() if (exact and v != exact) or (least and version_parts(v) < version_parts(least))}
        shown = wrong or found
        record.ok(
            "bios.firmware[{}]".format(pin["name"]),
            bool(found) and not wrong,
            expected=expected,
            found=", ".join("{} {}".format(i, v or "unknown") for i, v in shown.items()) or "none of " + ", ".join(pin["ids"]),
            hint="update the firmware, or change the pin to the version in use",
        )


def test_boot_order(spec: SpecView, record: Record, bmc: BmcView) -> None:
    """`bios.boot_order.current` is the order in force, `.pending` the order after the next reset."""
    declared = list(spec["bios_boot_order"] or [])
    if not declared:
        record.not_applicable("bios.boot_order.current", "no boot order is declared")
        return
    expected = ", ".join(declared)
    good_now, good_then = in_order(declared, bmc.boot_order), in_order(declared, bmc.pending_boot_order)
    hint = (
        "a reset is pending that applies it"
        if good_then
        else "until it is set, an install server may answer the next boot; `clusterctl plan`"
    )
    record.ok("bios.boot_order.current", good_now, expected=expected, found=shown(bmc.boot_order), hint=hint)
    pending_hint = "the pending order was changed: the next reset would apply it" if good_now else "no write is pending that would set it"
    record.ok("bios.boot_order.pending", good_then, expected=expected, found=shown(bmc.pending_boot_order), hint=pending_hint)


def test_boot_override(spec: SpecView, record: Record, bmc: BmcView) -> None:
    """`bios.boot_order.override`: no override of the BMC directs the next boot elsewhere than the declared order does."""
    declared = list(spec["bios_boot_order"] or [])
    if declared:
        target = bmc.boot_override
        record.ok(
            "bios.boot_order.override",
            not target or override_kind(target) in meant_first(declared, bmc.boot_order),
            expected="none, or {}".format(declared[0]),
            found=target or "none",
            hint="clear BootSourceOverrideEnabled at the BMC, or let whoever set it finish; until then the next boot does not follow the order",
        )


def test_leak_detectors(spec: SpecView, record: Record, bmc: BmcView) -> None:
    """`bios.leak_detectors[<chassis>]`: the declared number of detectors is in place, all of them measure, and none reports a leak."""
    declared = (spec["bios_leak_detectors"] or {}).get(bmc.vendor) or {}
    if not declared:
        record.not_applicable("bios.leak_detectors", "no leak detectors are declared for vendor {}".format(bmc.vendor or "unknown"))
    for chassis, number in sorted(declared.items()):
        states = bmc.leak_detectors.get(chassis) or {}
        wet, silent = leaks(states), without_reading(states)
        hint = "reseat the connector of the detector that is missing, or correct bios_leak_detectors if this machine has fewer"
        if silent:
            hint = "reseat the connector of the detector that does not measure, then replace it: a leak there would not be seen"
        record.ok(
            "bios.leak_detectors[{}]".format(chassis),
            not wet and not silent and len(states) >= number,
            expected="{} OK".format(number),
            found=", ".join(wet + silent) or "{} OK".format(len(states)),
            severity=Severity.CRITICAL if wet else Severity.MAJOR,
            hint="have the tray inspected for coolant before it is loaded again" if wet else hint,
        )


def test_chassis_parts(spec: SpecView, record: Record, bmc: BmcView) -> None:
    """`bios.power_supplies`, `bios.fans`: all that are in place work. Their sum for the machine (HealthRollup) is not judged.

    A recorded GB200 tray in order has the roll-up Critical for an entry of its processors' firmware.
    """
    for kind in KINDS:
        check = "bios." + kind
        parts = bmc.chassis_parts.get(kind) or ()
        if kind not in (spec["bios_chassis_health"] or []):
            record.not_applicable(check, "bios_chassis_health does not list {}".format(kind))
        elif not any(p.health or p.without_input for p in parts):
            record.not_applicable(check, "the BMC states no health of any in the chassis of this machine")
        else:
            broken = [p for p in parts if p.health == "Critical" or p.without_input]
            record.ok(
                check, not broken, expected="all OK", found=_parts_shown(broken) or "{} OK".format(len(parts)), hint=_hint(kind, broken)
            )
            weak = [p for p in parts if p.health == "Warning" and p not in broken]
            if weak:
                record.warn(check, expected="all OK", found=_parts_shown(weak), hint=_hint(kind, weak))


def declared_attributes(spec: SpecView, vendor: str) -> List[Dict[str, Any]]:
    """The attributes declared for a vendor, with the site's overrides applied."""
    chosen = {w["name"]: w for w in (spec["bios_attributes"] or {}).get(vendor) or []}
    for name, value in (spec["bios_overrides"] or {}).items():
        if value is None:
            chosen.pop(name, None)
        else:
            chosen[name] = {**chosen.get(name, {"name": name}), "value": value}
    return list(chosen.values())


def _compare(record: Record, check: str, declared: Any, found: List[str], bmc: BmcView) -> None:
    now = {a: bmc.current[a] for a in found}
    then = {a: bmc.next_boot(a) for a in found}
    after_reset = bool(found) and all(same(declared, v) for v in then.values())
    hint = "a reset is pending that applies it" if after_reset else "`clusterctl plan` shows what the role would write; it requires a reset"
    absent = "this machine has no such attribute"
    good_now = bool(found) and all(same(declared, v) for v in now.values())
    record.ok(check + ".current", good_now, expected=declared, found=_shown(now) or absent, hint=hint)
    pending_hint = "the pending value was changed: the next reset would apply it" if good_now else "no write is pending that would set it"
    record.ok(check + ".pending", after_reset, expected=declared, found=_shown(then) or absent, hint=pending_hint)


def _shown(values: Dict[str, Any]) -> str:
    texts = {as_text(v) for v in values.values()}
    return texts.pop() if len(texts) == 1 else ", ".join("{}={}".format(k, as_text(v)) for k, v in values.items())


def _parts_shown(parts: Sequence[ChassisPart]) -> str:
    return ", ".join(p.name + " " + ", ".join(filter(None, (p.health, "without input" if p.without_input else ""))) for p in parts)


def _hint(kind: str, parts: Sequence[ChassisPart]) -> str:
    if any(p.without_input for p in parts):
        return "check cord and outlet of the power supply; until it has input, the next failure of a supply may stop the machine"
    part = "power supply" if kind == "power_supplies" else "fan"
    return "reseat the {}, replace it if the fault remains; `clusterctl bmc` shows all readings and the event log".format(part)
