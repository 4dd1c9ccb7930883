"""The Redfish documents of one BMC. Pure."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from clusterctl_lab.bmc.bios import attribute_registry
from clusterctl_lab.bmc.boot import ENABLED, TARGETS
from clusterctl_lab.bmc.health import CONSOLE, health_documents
from clusterctl_lab.bmc.leaks import leak_documents
from clusterctl_lab.bmc.metadata import ROOT, type_name
from clusterctl_lab.bmc.power import ACTIONS
from clusterctl_lab.simulator.boot_source import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl_lab.bmc.boot import BootSettings
    from clusterctl_lab.bmc.event_log import Event
    from clusterctl_lab.bmc.settings import Settings
    from clusterctl_lab.simulator.boot_source import FirmwareOption
    from clusterctl_lab.simulator.hardware import Hardware

SYSTEM = f"{ROOT}/Systems/System.1"
BIOS = f"{SYSTEM}/Bios"
SETTINGS = f"{BIOS}/Settings"
SYSTEM_SETTINGS = f"{SYSTEM}/Settings"
BOOT_OPTIONS = f"{SYSTEM}/BootOptions"
WRITABLE = (SETTINGS, SYSTEM_SETTINGS, SYSTEM)
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"
MANAGER = f"{ROOT}/Managers/BMC.1"
CHASSIS = f"{ROOT}/Chassis/Chassis.1"
AC_CYCLE = f"{CHASSIS}/Actions/Oem/NvidiaChassis.AuxPowerReset"
FIRMWARE = f"{ROOT}/UpdateService/FirmwareInventory"
SESSION_SERVICE = f"{ROOT}/SessionService"
SESSIONS = f"{SESSION_SERVICE}/Sessions"
REGISTRY = "BiosAttributeRegistry.1.0.0"
CHILDREN = ("Systems", "Managers", "Chassis", "UpdateService", "Registries", "SessionService")
_NO_SESSIONS: Mapping[str, str] = MappingProxyType({})
_GENERAL_ERROR = "Base.1.8.GeneralError"
_VERSIONS = {"BIOS": "2.4.4", "BMC": "7.10.50", "CPLD": "1.1.3"}


def resource(
    path: str,
    node: str,
    settings: Settings,
    hardware: Hardware,
    *,
    on: bool,
    events: Sequence[Event] = (),
    sessions: Mapping[str, str] = _NO_SESSIONS,
) -> dict[str, Any] | None:
    """The resource at `path`; None if it does not exist. `sessions`: id -> user."""
    bios, boot = settings.bios, settings.boot
    every: dict[str, dict[str, Any]] = {
        ROOT: _service(),
        f"{ROOT}/Systems": _collection("ComputerSystem", f"{ROOT}/Systems", [SYSTEM]),
        f"{ROOT}/Managers": _collection("Manager", f"{ROOT}/Managers", [MANAGER]),
        f"{ROOT}/Chassis": _collection("Chassis", f"{ROOT}/Chassis", [CHASSIS]),
        SYSTEM: {**_system(node, hardware, on=on), "Boot": _boot(boot, boot.order)},
        SYSTEM_SETTINGS: _resource("ComputerSystem", SYSTEM_SETTINGS, Boot={"BootOrder": list(boot.pending or boot.order)}),
        BOOT_OPTIONS: _collection("BootOption", BOOT_OPTIONS, [f"{BOOT_OPTIONS}/{name}" for name in OPTIONS]),
        MANAGER: _manager(),
        CHASSIS: _chassis(node, on=on, liquid_cooled=hardware.rack_nvlink),
        BIOS: _bios(BIOS, bios.current),
        SETTINGS: _bios(SETTINGS, {**bios.current, **bios.pending}),
        f"{ROOT}/UpdateService": _resource("UpdateService", f"{ROOT}/UpdateService", FirmwareInventory={"@odata.id": FIRMWARE}),
        FIRMWARE: _collection("SoftwareInventory", FIRMWARE, [f"{FIRMWARE}/{name}" for name in _VERSIONS]),
        f"{ROOT}/Registries": _collection("MessageRegistryFile", f"{ROOT}/Registries", [f"{ROOT}/Registries/{REGISTRY}"]),
        f"{ROOT}/Registries/{REGISTRY}": _registry_file(),
        f"{ROOT}/Registries/{REGISTRY}.json": _registry(),
        SESSION_SERVICE: _resource("SessionService", SESSION_SERVICE, ServiceEnabled=True, Sessions={"@odata.id": SESSIONS}),
        SESSIONS: _collection("Session", SESSIONS, [f"{SESSIONS}/{name}" for name in sessions]),
    }
    parts = health_documents(SYSTEM, MANAGER, CHASSIS, events, on=on) | (
        leak_documents(CHASSIS, settings.wet) if hardware.rack_nvlink else {}
    )
    every |= {p: {**_resource(kind, p), **body} for p, (kind, body) in parts.items()}
    every |= {f"{FIRMWARE}/{name}": _resource("SoftwareInventory", f"{FIRMWARE}/{name}", Version=v) for name, v in _VERSIONS.items()}
    every |= {f"{BOOT_OPTIONS}/{name}": _boot_option(name, option) for name, option in OPTIONS.items()}
    every |= {f"{SESSIONS}/{name}": session_document(name, user) for name, user in sessions.items()}
    return every.get(path.rstrip("/"))


def session_document(name: str, user: str) -> dict[str, Any]:
    """A session; no service shows a password."""
    return _resource("Session", f"{SESSIONS}/{name}", UserName=user, Password=None)


def error_document(text: str) -> dict[str, Any]:
    """A Redfish error body."""
    message = {"MessageId": _GENERAL_ERROR, "Message": text, "MessageSeverity": "Critical", "Resolution": "None."}
    return {"error": {"code": _GENERAL_ERROR, "message": text, "@Message.ExtendedInfo": [message]}}


def _resource(kind: str, path: str, **values: Any) -> dict[str, Any]:
    name = path.rpartition("/")[2]
    known = {} if kind.endswith("Collection") else {"Id": name}
    return {"@odata.id": path, "@odata.type": type_name(kind), **known, "Name": f"{kind} {name} (simulated)", **values}


def _collection(kind: str, path: str, members: list[str]) -> dict[str, Any]:
    body = _resource(f"{kind}Collection", path)
    return {**body, "Members": [{"@odata.id": m} for m in members], "Members@odata.count": len(members)}


def _service() -> dict[str, Any]:
    links = {name: {"@odata.id": f"{ROOT}/{name}"} for name in CHILDREN}
    body = {**_resource("ServiceRoot", ROOT), "@odata.id": f"{ROOT}/", "Id": "RootService"}
    return {**body, "RedfishVersion": "1.15.0", "Vendor": "clusterctl lab", **links, "Links": {"Sessions": {"@odata.id": SESSIONS}}}


def _system(node: str, hardware: Hardware, *, on: bool) -> dict[str, Any]:
    cores = hardware.sockets * hardware.cores_per_socket
    return {
        **_resource("ComputerSystem", SYSTEM),
        "HostName": node,
        "Manufacturer": "clusterctl lab",
        "Model": f"Simulated {hardware.title}",
        "SerialNumber": f"SIM-{node.upper()}",
        "BiosVersion": _VERSIONS["BIOS"],
        "PowerState": "On" if on else "Off",
        "Status": {"State": "Enabled" if on else "Disabled", "Health": "OK"},
        "ProcessorSummary": {"Count": hardware.sockets, "Model": hardware.processor.model, "CoreCount": cores},
        "MemorySummary": {"TotalSystemMemoryGiB": -(-hardware.memory_kib // (32 * 1048576)) * 32},
        "Bios": {"@odata.id": BIOS},
        "@Redfish.Settings": {"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": {"@odata.id": SYSTEM_SETTINGS}},
        "LogServices": {"@odata.id": f"{SYSTEM}/LogServices"},
        "SerialConsole": CONSOLE,
        "Links": {"ManagedBy": [{"@odata.id": MANAGER}], "Chassis": [{"@odata.id": CHASSIS}]},
        "Actions": {"#ComputerSystem.Reset": {"target": RESET, "ResetType@Redfish.AllowableValues": list(ACTIONS)}},
    }


def _boot(boot: BootSettings, order: Sequence[str]) -> dict[str, Any]:
    return {
        "BootOptions": {"@odata.id": BOOT_OPTIONS},
        "BootOrder": list(order),
        "BootSourceOverrideEnabled": boot.enabled,
        "BootSourceOverrideEnabled@Redfish.AllowableValues": list(ENABLED),
        "BootSourceOverrideMode": "UEFI",
        "BootSourceOverrideTarget": boot.override or "None",
        "BootSourceOverrideTarget@Redfish.AllowableValues": list(TARGETS),
    }


def _boot_option(name: str, option: FirmwareOption) -> dict[str, Any]:
    body = _resource("BootOption", f"{BOOT_OPTIONS}/{name}", BootOptionReference=name, BootOptionEnabled=True)
    return {**body, "DisplayName": option.name, "UefiDevicePath": option.path}


def _manager() -> dict[str, Any]:
    links = {"ManagerForServers": [{"@odata.id": SYSTEM}]}
    network = {"@odata.id": f"{MANAGER}/NetworkProtocol"}
    body = _resource("Manager", MANAGER, ManagerType="BMC", FirmwareVersion=_VERSIONS["BMC"])
    return {**body, "NetworkProtocol": network, "Links": links}


def _chassis(node: str, *, on: bool, liquid_cooled: bool) -> dict[str, Any]:
    links = {"ComputerSystems": [{"@odata.id": SYSTEM}], "ManagedBy": [{"@odata.id": MANAGER}]}
    parts = ("Thermal", "Power", "ThermalSubsystem") if liquid_cooled else ("Thermal", "Power")
    actions = {"Oem": {"#NvidiaChassis.AuxPowerReset": {"target": AC_CYCLE}}}
    body = _resource("Chassis", CHASSIS, Actions=actions, **{part: {"@odata.id": f"{CHASSIS}/{part}"} for part in parts})
    return {**body, "ChassisType": "RackMount", "SerialNumber": f"SIM-{node.upper()}", "PowerState": "On" if on else "Off", "Links": links}


def _bios(path: str, attributes: dict[str, str]) -> dict[str, Any]:
    body = {**_resource("Bios", path), "AttributeRegistry": REGISTRY, "Attributes": attributes}
    if path == BIOS:
        body["@Redfish.Settings"] = {"SettingsObject": {"@odata.id": SETTINGS}, "SupportedApplyTimes": ["OnReset"]}
    return body


def _registry_file() -> dict[str, Any]:
    path = f"{ROOT}/Registries/{REGISTRY}"
    location = {"Language": "en", "Uri": f"{path}.json"}
    return _resource("MessageRegistryFile", path, Registry=REGISTRY.rpartition(".")[0], Languages=["en"], Location=[location])


def _registry() -> dict[str, Any]:
    attributes = [
        {"AttributeName": name, "Type": "Enumeration", "ReadOnly": False, "Value": [{"ValueName": choice} for choice in attribute.choices]}
        for name, attribute in attribute_registry().items()
    ]
    body = _resource(
        "AttributeRegistry", f"{ROOT}/Registries/{REGISTRY}", Language="en", RegistryVersion="1.0.0", OwningEntity="clusterctl lab"
    )
    return {**body, "RegistryEntries": {"Attributes": attributes}}
