"""Power supplies and fans of a machine and their health, from the chassis that its system names.

Two forms: arrays in Power and Thermal (Supermicro, Dell, Lenovo, HPE, fans of DGX H100), and members below PowerSubsystem and ThermalSubsystem
(power supplies of DGX H100, whose Power has none). Trees: NVIDIA/libredfish, recordings of its mock-ups.
"""

from typing import Any, Collection, Dict, Iterator, Mapping, Sequence, Tuple

from .chassis_part import KINDS, ChassisPart
from .redfish import Redfish, entries, link

# Kind -> resource with an array, its name; resource with a collection, its name.
_PLACES: Dict[str, Tuple[str, str, str, str]] = {
    "power_supplies": ("Power", "PowerSupplies", "PowerSubsystem", "PowerSupplies"),
    "fans": ("Thermal", "Fans", "ThermalSubsystem", "Fans"),
}
_NOT_IN_PLACE = frozenset({"Absent", "Disabled"})
_WITHOUT_INPUT = frozenset({"LossOfInput", "OutOfRange"})  # LineInputStatus (DMTF, PowerSupply 1.0 and later)


def chassis_parts(client: Redfish, system: Mapping[str, Any], kinds: Collection[str]) -> Dict[str, Tuple[ChassisPart, ...]]:
    """Kind -> its parts in the chassis of a system. Power supplies of a rack (GB200, GB300) are in no chassis of a tray.

    What is linked and does not exist counts as absent: a service that is wrong about a fan is still read for everything else.

    Raises:
        BmcError: one of the resources cannot be read.
    """
    links = (system.get("Links") or {}).get("Chassis") or [] if kinds else []
    chassis = [client.get(str(c["@odata.id"])) for c in links if c.get("@odata.id")]
    return {
        kind: tuple(_named([row for c in chassis for row in _rows(client, c, kind) if _in_place(row)])) for kind in KINDS if kind in kinds
    }


def _rows(client: Redfish, chassis: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    resource, array, subsystem, collection = _PLACES[kind]
    if link(chassis, resource):
        rows = [row for row in client.get(link(chassis, resource)).get(array) or [] if isinstance(row, dict)]
        if rows:
            return rows
    if link(chassis, subsystem):
        path = link(client.get(link(chassis, subsystem)), collection)
        if path:
            rows = [client.get(str(m["@odata.id"])) if set(m) <= {"@odata.id"} else m for m in entries(client.get, path)]
            return [row for row in rows if row]
    return []


def _named(rows: Sequence[Mapping[str, Any]]) -> Iterator[ChassisPart]:
    names = [str(row.get("Name") or row.get("FanName") or row.get("MemberId") or row.get("Id") or "") for row in rows]
    for number, (name, row) in enumerate(zip(names, rows)):
        title = "{} {}".format(name, names[:number].count(name) + 1) if names.count(name) > 1 else name
        yield ChassisPart(title, str(_status(row).get("Health") or ""), row.get("LineInputStatus") in _WITHOUT_INPUT)


def _in_place(row: Mapping[str, Any]) -> bool:
    return _status(row).get("State") not in _NOT_IN_PLACE


def _status(row: Mapping[str, Any]) -> Mapping[str, Any]:
    status = row.get("Status")
    return status if isinstance(status, dict) else {}
