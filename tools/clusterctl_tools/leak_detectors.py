"""The leak detectors of liquid-cooled machines: LeakDetection below the ThermalSubsystem of a chassis (DMTF, LeakDetector 1.0 and later)."""

from typing import Any, Collection, Dict, Iterator, Mapping

from .leak_rules import leaks
from .redfish import Redfish, entries, last_segment, link, root_link

_NOT_IN_PLACE = frozenset({"Absent", "Disabled"})


def leak_states(client: Redfish, root: Mapping[str, Any], chassis: Collection[str]) -> Dict[str, Dict[str, str]]:
    """Chassis -> detector that is in place -> `OK`, `Warning`, `Critical`, or empty where the BMC does not state it.

    Other chassis are not read: a GB300 tray has 42, and the detectors are in one. A chassis that the machine lacks is not in the result.

    Raises:
        BmcError: one of the resources cannot be read.
    """
    paths = {last_segment(path): path for path in client.members(root_link(root, "Chassis"))} if chassis else {}
    return {name: {_name(d): _state(d) for d in _detectors(client, paths[name]) if _in_place(d)} for name in chassis if name in paths}


def leak_problems(declared: Mapping[str, int], states: Mapping[str, Mapping[str, str]]) -> Dict[str, str]:
    """Chassis -> what is wrong with its detectors, of those that have fewer than declared, or one that is not dry."""
    found = {}
    for chassis, number in sorted(declared.items()):
        known = states.get(chassis) or {}
        wet = leaks(known)
        if wet or len(known) < number:
            found[chassis] = ", ".join(wet) or "{} of {} leak detectors are in place".format(len(known), number)
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
    return str(detector.get("DetectorState") or "")


def _in_place(detector: Mapping[str, Any]) -> bool:
    return (detector.get("Status") or {}).get("State") not in _NOT_IN_PLACE
