"""The Redfish documents of log, sensors and protocols. Pure; the shapes are those of Supermicro's and OpenBMC's services."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl_lab.bmc.event_log import Event

CONSOLE = {"MaxConcurrentSessions": 1, "SSH": {"ServiceEnabled": False, "Port": 2200}, "IPMI": {"ServiceEnabled": False}}
# A lab BMC serves Redfish over TLS only.
_NETWORK = {
    "HTTP": {"ProtocolEnabled": False, "Port": None},
    "HTTPS": {"ProtocolEnabled": True, "Port": 8443},
    "IPMI": {"ProtocolEnabled": False, "Port": 623},
    "SSH": {"ProtocolEnabled": False, "Port": 22},
}
_OK = {"State": "Enabled", "Health": "OK"}
_PSUS = 2


def health_documents(
    system: str, manager: str, chassis: str, events: Sequence[Event], *, on: bool
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Path -> type and content."""
    logs, sel = f"{system}/LogServices", f"{system}/LogServices/SEL"
    entries = {f"{sel}/Entries/{e.id}": _entry(f"{sel}/Entries/{e.id}", e) for e in events}
    members = [{"@odata.id": path, **body} for path, body in entries.items()]
    return {
        logs: ("LogServiceCollection", {"Members": [{"@odata.id": sel}], "Members@odata.count": 1}),
        sel: ("LogService", {"LogEntryType": "SEL", "Entries": {"@odata.id": f"{sel}/Entries"}}),
        f"{sel}/Entries": ("LogEntryCollection", {"Members": members, "Members@odata.count": len(members)}),
        **{path: ("LogEntry", body) for path, body in entries.items()},
        f"{manager}/NetworkProtocol": ("ManagerNetworkProtocol", _NETWORK),
        f"{chassis}/Thermal": ("Thermal", _thermal(f"{chassis}/Thermal", on=on)),
        f"{chassis}/Power": ("Power", _power(f"{chassis}/Power", on=on)),
    }


def _entry(path: str, event: Event) -> dict[str, Any]:
    created = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="seconds")
    return {"Id": path.rsplit("/", 1)[1], "EntryType": "SEL", "Severity": "OK", "Created": created, "Message": event.message}


def _thermal(path: str, *, on: bool) -> dict[str, Any]:
    temperatures = {"Inlet Temp": 24, "CPU1 Temp": 48 if on else 26, "CPU2 Temp": 47 if on else 26}
    fans = {f"Fan {n}": 6400 if on else 0 for n in range(1, 7)}
    return {
        "Temperatures": _members(path, "Temperatures", [{"Name": n, "ReadingCelsius": v, "Status": _OK} for n, v in temperatures.items()]),
        "Fans": _members(path, "Fans", [{"Name": n, "Reading": v, "ReadingUnits": "RPM", "Status": _OK} for n, v in fans.items()]),
    }


def _power(path: str, *, on: bool) -> dict[str, Any]:
    watts = 1840 if on else 60
    supplies = [{"Name": f"PSU {n + 1}", "LastPowerOutputWatts": watts // _PSUS, "Status": _OK} for n in range(_PSUS)]
    control = {"Name": "System Power Control", "PowerConsumedWatts": watts}
    return {"PowerControl": _members(path, "PowerControl", [control]), "PowerSupplies": _members(path, "PowerSupplies", supplies)}


def _members(path: str, name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Members of an array within a resource: each has an id of its own."""
    return [{"@odata.id": f"{path}#/{name}/{n}", "MemberId": str(n), **row} for n, row in enumerate(rows)]
