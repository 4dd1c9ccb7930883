"""The network services of BMCs, and the ways to the serial console of their host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.model.bmc_report import Console, Protocol
from clusterctl_tools.redfish import Redfish, link

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = ("SSH", "IPMI", "Telnet", "WebSocket")


def protocols(manager: str, resource: dict[str, Any]) -> Iterator[Protocol]:
    """The protocols of one resource ManagerNetworkProtocol, by name; an object is one if it states whether it is enabled."""
    for name, value in sorted(resource.items()):
        if isinstance(value, dict) and "ProtocolEnabled" in value:
            enabled, port = value["ProtocolEnabled"], value.get("Port")
            yield Protocol(manager, name, enabled if isinstance(enabled, bool) else None, port if isinstance(port, int) else None)


def system_consoles(system: dict[str, Any]) -> Iterator[Console]:
    """From SerialConsole of the system (Supermicro, OpenBMC); it has the port and the command."""
    console = system.get("SerialConsole")
    for kind in _KINDS:
        way = console.get(kind) if isinstance(console, dict) else None
        if isinstance(way, dict):
            words = [f"port {way['Port']}" if way.get("Port") else "", str(way.get("ConsoleEntryCommand") or "")]
            yield Console(str(system.get("Id") or ""), kind, way.get("ServiceEnabled") is True, ", ".join(w for w in words if w))


def manager_consoles(manager: dict[str, Any]) -> Iterator[Console]:
    """From SerialConsole of the manager (older schemas, Dell): one switch for the ways that it lists."""
    console = manager.get("SerialConsole")
    if isinstance(console, dict):
        for kind in console.get("ConnectTypesSupported") or []:
            yield Console(str(manager.get("Id") or ""), str(kind), console.get("ServiceEnabled") is True)


def serial_ports(client: Redfish, manager: dict[str, Any]) -> Iterator[Console]:
    """From SerialInterfaces of the manager: serial over LAN, and ports.

    Raises:
        BmcError: one cannot be read.
    """
    for path in client.members(link(manager, "SerialInterfaces")):
        port = client.get(path)
        speed = f"{port['BitRate']} bit/s" if port.get("BitRate") else ""
        yield Console(str(manager.get("Id") or ""), f"serial {port.get('Id') or path}", port.get("InterfaceEnabled") is True, speed)
