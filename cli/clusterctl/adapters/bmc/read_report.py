"""Read the report of one BMC; only GET requests, but for the section of accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from clusterctl.adapters.bmc import console, event_log, sensors
from clusterctl.adapters.bmc.accounts import check_accounts
from clusterctl.adapters.bmc.host_power import can_be_reset, power_of
from clusterctl.model.bmc_report import BmcReport, BmcSection
from clusterctl_tools.redfish import ROOT, BmcError, Redfish, UnreachableError, link, one_system, root_link, well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from clusterctl.adapters.bmc.access import BmcAccess
    from clusterctl.adapters.bmc.host_power import BmcLimits
    from clusterctl.model.bmc_report import Console, Protocol

P = TypeVar("P")
T = TypeVar("T")


def read_report(access: BmcAccess, limits: BmcLimits, sections: Collection[BmcSection], entries: int) -> BmcReport:
    """The report of a node; `entries` of each log. A BMC that cannot be read is a report with its problem, a section, a log or a chassis that cannot one without it."""
    if access.problem:
        return BmcReport(access.node, problem=access.problem)
    try:
        with well_formed():
            client = Redfish(access, limits.timeout_s, verify=limits.verify)
            root = client.get(ROOT)
            system = one_system(client.get, root, limits.system_id, can_be_reset, what="a power switch", setting=limits.setting)
            managers = [client.get(path) for path in client.members(root_link(root, "Managers"))]
            described = _described(client, system)
    except BmcError as e:
        return BmcReport(access.node, problem=str(e))
    missing: list[tuple[BmcSection, str]] = []

    def section(name: BmcSection, read: Callable[[], Sequence[T]]) -> tuple[T, ...]:
        return each(name, ("",), lambda _: read())

    def each(name: BmcSection, parts: Sequence[P], read: Callable[[P], Sequence[T]]) -> tuple[T, ...]:
        """Read the parts of a section; one that cannot be read is named, and costs no other, unless the BMC does not answer."""
        found: list[T] = []
        for part in parts if name in sections else ():
            try:
                with well_formed():
                    found += read(part)
            except BmcError as e:
                missing.append((name, str(e)))
                if isinstance(e, UnreachableError):
                    break
        return tuple(found)

    of_chassis = BmcSection.SENSORS if BmcSection.SENSORS in sections else BmcSection.LOG
    paths = section(of_chassis, lambda: list(client.members(root_link(root, "Chassis"))))
    chassis = each(of_chassis, paths, lambda path: [described if described.get("@odata.id") == path else client.linked(path)])
    read = each(BmcSection.SENSORS, chassis, lambda one: sensors.read_sensors(client, root, one))
    owners = (*section(BmcSection.LOG, lambda: _systems(client, root)), *managers, *chassis)
    logs = dict.fromkeys(each(BmcSection.LOG, owners, lambda owner: event_log.log_services(client, [owner])))
    found = each(BmcSection.LOG, tuple(logs), lambda path: event_log.read_one_log(client, path, entries))
    log = event_log.newest_first(event_log.without_copies(found))
    network = each(BmcSection.PROTOCOLS, managers, lambda manager: _protocols(client, manager))
    open_to_all = client.answers_without_account(root_link(root, "Systems")) if BmcSection.PROTOCOLS in sections else None
    consoles = section(BmcSection.CONSOLE, lambda: _consoles(client, system, managers))
    tried = section(BmcSection.ACCOUNTS, lambda: [check_accounts(access, limits, client, system, [*_systems(client, root), *managers])])
    return BmcReport(
        access.node,
        verified=limits.verify,
        power=power_of(system),
        manufacturer=_text(described, "Manufacturer"),
        model=_text(described, "Model"),
        serial=_text(system, "SerialNumber"),
        bios_version=_text(system, "BiosVersion"),
        bmc_versions=tuple((_text(m, "Id"), _text(m, "FirmwareVersion")) for m in managers if m.get("FirmwareVersion")),
        log=log,
        sensors=read,
        protocols=network,
        answers_without_account=open_to_all,
        consoles=consoles,
        accounts=next(iter(tried), None),
        missing=tuple(missing),
    )


def _described(client: Redfish, system: dict[str, Any]) -> dict[str, Any]:
    """What has maker and model: the system, or the chassis that it links to (GH200, GB200), whose serial is that of a board."""
    chassis = [] if _text(system, "Manufacturer") or _text(system, "Model") else (system.get("Links") or {}).get("Chassis") or []
    return next((client.get(path) for path in (str(c["@odata.id"]) for c in chassis)), system)


def _systems(client: Redfish, root: dict[str, Any]) -> list[dict[str, Any]]:
    return [client.get(path) for path in client.members(root_link(root, "Systems"))]


def _protocols(client: Redfish, manager: dict[str, Any]) -> list[Protocol]:
    path = link(manager, "NetworkProtocol")
    return list(console.protocols(_text(manager, "Id"), client.linked(path))) if path else []


def _consoles(client: Redfish, system: dict[str, Any], managers: Sequence[dict[str, Any]]) -> list[Console]:
    own = list(console.system_consoles(system))
    if not own:
        own = [c for m in managers for c in console.manager_consoles(m)]
    return own + [c for m in managers for c in console.serial_ports(client, m)]


def _text(resource: dict[str, Any], name: str) -> str:
    return str(resource.get(name) or "").strip()
