"""The leak detectors of liquid-cooled machines: LeakDetection below the ThermalSubsystem of a chassis (DMTF, LeakDetector 1.0 and later)."""

from typing import Any, Collection, Dict, Iterator, Mapping

from .leak_rules import leaks, without_reading
from .redfish import Redfish, entries, last_segment, link, root_link

_NOT_IN_PLACE = frozenset({"Absent", "Disabled"})
# The states of a detector that measures: a wet one of a GB200 tray is Degraded and Critical (recorded). One that does not can have any DetectorState
# (NVIDIA/infra-controller a02fa34, crates/health, which once took a broken one for a leak).
_MEASURES = frozenset({"", "Enabled", "Degraded"})


def leak_states(client: Redfish, root: Mapping[str, Any], chassis: Collection[str]) -> Dict[str, Dict[str, str]]:
    """Chassis -> detector that is in place -> `OK`, `Warning`, `Critical`; for one that does not measure why (`Fault`, `UnavailableOffline`); empty where the BMC states nothing.

    Other chassis are not read: a GB300 tray has 42, and the detectors are in one. A chassis that the machine lacks is not in the result.

    Raises:
        BmcError: one of the resources cannot be read.
    """
    paths = {last_segment(path): path for path in client.members(root_link(root, "Chassis"))} if chassis else {}
    return {name: {_name(d): _state(d) for d in _detectors(client, paths[name]) if _in_place(d)} for name in chassis if name in paths}


def leak_problems(declared: Mapping[str, int], states: Mapping[str, Mapping[str, str]]) -> Dict[str, str]:
    """Chassis -> what is wrong with its detectors: a leak, one that does not measure, fewer than declared."""
    found = {}
    for chassis, number in sorted(declared.items()):
        known = states.get(chassis) or {}
        wrong = leaks(known) + without_reading(known)
        if wrong or len(known) < number:
            found[chassis] = ", ".join(wrong) or "{} of {} leak detectors are in place".format(len(known), number)
    return found


def _detectors(client: Redfish, path: str) -> Iterator[Mapping[str, Any]]:
    found = client.linked(path)
    for name in ("ThermalSubsystem", "LeakDetection"):
        if not link(found, name):
            return
        found = client.linked(link(found, name))
    for member in entries(client.linked, link(found, "LeakDetectors")):
        yield client.linked(str(member["@odata.id"])) if set(member) <= {"@odata.id"} else member


def _name(detector: Mapping[str, Any]) -> str:
    return str(detector.get("Id") or detector.get("Name") or detector["@odata.id"])


def _state(detector: Mapping[str, Any]) -> str:
    state = _status(detector)
    return str(detector.get("DetectorState") or "") if state in _MEASURES else state


def _in_place(detector: Mapping[str, Any]) -> bool:
    return _status(detector) not in _NOT_IN_PLACE and detector.get("DetectorState") != "Absent"


def _status(detector: Mapping[str, Any]) -> str:
    return str((detector.get("Status") or {}).get("State") or "")
