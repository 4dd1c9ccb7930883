"""The sensors of a machine: Thermal and Power of a chassis (all vendors before 2021), else its collection of Sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.model.bmc_report import Sensor
from clusterctl_tools.redfish import Redfish, entries, link

if TYPE_CHECKING:
    from collections.abc import Iterator

# collection of Thermal and Power -> (kind, names of the reading in older and newer schemas, unit)
_TABLES = {
    "Temperatures": ("temperature", ("ReadingCelsius", "CurrentReading"), "Cel"),
    "Fans": ("fan", ("Reading", "CurrentReading", "ReadingRPM"), ""),
    "Voltages": ("voltage", ("ReadingVolts",), "V"),
    "PowerControl": ("power", ("PowerConsumedWatts",), "W"),
    "PowerSupplies": ("power supply", ("PowerOutputWatts", "LastPowerOutputWatts", "PowerInputWatts"), "W"),
}
_EXPAND = "?$expand=.($levels=1)"
# Required of every resource. AMI's services of DGX H100 and GB300 leave them out of expanded members (NVIDIA/nv-redfish 7ac2181, bmc_quirks.rs).
_WHOLE = frozenset({"Id", "Name"})


def read_sensors(client: Redfish, root: dict[str, Any], chassis: dict[str, Any]) -> list[Sensor]:
    """Every sensor that is present of a chassis.

    Raises:
        BmcError: one of its sensors cannot be read, or does not exist.
    """
    tables = [client.linked(link(chassis, name)) for name in ("Thermal", "Power") if link(chassis, name)]
    name = str(chassis.get("Id") or chassis.get("@odata.id") or "")
    if tables:
        return [s for table in tables for s in table_sensors(name, table)]
    if link(chassis, "Sensors"):
        return [sensor(name, s) for s in _resources(client, root, link(chassis, "Sensors")) if present(s)]
    return []


def table_sensors(chassis: str, table: dict[str, Any]) -> Iterator[Sensor]:
    """The sensors in one resource Thermal or Power."""
    for key, (kind, names, unit) in _TABLES.items():
        for row in table.get(key) or []:
            if isinstance(row, dict) and present(row):
                reading = next((row[n] for n in names if isinstance(row.get(n), int | float)), None)
                title = str(row.get("Name") or row.get("FanName") or row.get("MemberId") or key)
                own_unit = str(row.get("ReadingUnits") or row.get("Units") or unit)
                yield Sensor(chassis, title, kind, reading, own_unit, _health(row))


def sensor(chassis: str, resource: dict[str, Any]) -> Sensor:
    """From a resource Sensor."""
    value, kind = resource.get("Reading"), str(resource.get("ReadingType") or "")
    reading = value if isinstance(value, int | float) else None
    title = str(resource.get("Name") or resource.get("Id") or "")
    return Sensor(chassis, title, kind.lower(), reading, str(resource.get("ReadingUnits") or ""), _health(resource))


def present(resource: dict[str, Any]) -> bool:
    """Whether the part of a sensor is there."""
    return (resource.get("Status") or {}).get("State") != "Absent"


def _health(resource: dict[str, Any]) -> str:
    return str((resource.get("Status") or {}).get("Health") or "")


def _resources(client: Redfish, root: dict[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """The members of a collection; in one request where the service can expand them."""
    expands = ((root.get("ProtocolFeaturesSupported") or {}).get("ExpandQuery") or {}).get("Levels")
    members = list(client.entries(path + _EXPAND)) if expands else []
    for member in members or entries(client.linked, path):
        if member.keys() >= _WHOLE or not member.get("@odata.id"):
            yield member
        else:
            yield client.linked(str(member["@odata.id"]))
