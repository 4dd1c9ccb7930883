"""Find the BIOS of a machine in its Redfish service by following links; `get` reads one resource. Pure except for `get`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.bios import vendor_of
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.redfish import (
    ROOT,
    BmcError,
    last_segment,
    link,
    local,
    members,
    one_system,
    root_link,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ON_RESET = "OnReset"


class ServiceError(BmcError):
    """The service lacks something required; the text names it."""


@dataclass(frozen=True)
class Service:
    """The BIOS of one machine, from its BMC.

    Attributes:
        settings_path: where changes are written; always from `@Redfish.Settings`.
        etag: of the settings resource; empty if it has none.
        apply_times: `SupportedApplyTimes`; empty if the machine reports none.
        messages: messages of the machine about the last applied settings, by attribute.
    """

    vendor: str
    system: str
    uuid: str
    current: Mapping[str, Any]
    pending: Mapping[str, Any]
    settings_path: str
    etag: str = ""
    apply_times: tuple[str, ...] = ()
    registry: Mapping[str, Any] = field(default_factory=dict)
    registry_id: str = ""
    messages: Mapping[str, str] = field(default_factory=dict)

    def body(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The body of the PATCH request.

        Raises:
            ServiceError: this machine does not support changes on reset.
        """
        body: dict[str, Any] = {"Attributes": dict(attributes)}
        if self.apply_times and ON_RESET not in self.apply_times:
            raise ServiceError(f"this machine applies BIOS settings only {', '.join(self.apply_times)}, not on reset")
        if self.apply_times:
            body["@Redfish.SettingsApplyTime"] = {"@odata.type": "#Settings.v1_1_0.PreferredApplyTime", "ApplyTime": ON_RESET}
        return body


def open_service(get: Callable[[str], Mapping[str, Any]], system_id: str = "", vendor: str = "") -> Service:
    """Read everything about the BIOS of a machine.

    Args:
        get: reads a path of the service; {} for one that does not exist.
        system_id: the Id of the system, if several have a BIOS.
        vendor: overrides the vendor that the service reports.

    Raises:
        BmcError: there is no BIOS, or more than one.
    """
    root = get(ROOT)
    system = one_system(get, root, system_id, lambda s: bool(link(s, "Bios")), what="a BIOS", setting="bios_system")
    bios = get(link(system, "Bios"))
    settings_path = link(bios.get("@Redfish.Settings") or {}, "SettingsObject")
    if not settings_path:
        raise ServiceError("the Bios resource has no @Redfish.Settings: BIOS attributes cannot be set by Redfish")
    settings = get(settings_path)
    settings_info = bios["@Redfish.Settings"]
    registry_id = str(bios.get("AttributeRegistry") or "")
    registry = _registry(get, root, registry_id)
    return Service(
        vendor=vendor or machine_vendor(root, system, registry),
        system=str(system.get("Id", "")),
        uuid=str(system.get("UUID") or ""),
        current=bios.get("Attributes") or {},
        pending=settings.get("Attributes") or {},
        settings_path=settings_path,
        etag=str(settings.get("@odata.etag") or ""),
        apply_times=tuple(settings_info.get("SupportedApplyTimes") or settings_apply_times(settings)),
        registry=registry,
        registry_id=str(registry.get("Id") or registry_id),
        messages=_messages(settings_info),
    )


def settings_apply_times(settings: Mapping[str, Any]) -> list[str]:
    """The apply times from the alternative property of the standard."""
    support = settings.get("@Redfish.OperationApplyTimeSupport") or {}
    return list(support.get("SupportedValues") or [])


def machine_vendor(root: Mapping[str, Any], system: Mapping[str, Any], registry: Mapping[str, Any]) -> str:
    """The vendor whose attribute names this machine uses; empty if unknown."""
    return vendor_of([root.get("Vendor"), *(root.get("Oem") or {}), registry.get("OwningEntity"), system.get("Manufacturer")])


def _registry(get: Callable[[str], Mapping[str, Any]], root: Mapping[str, Any], registry_id: str) -> Mapping[str, Any]:
    """The attribute registry: the one that Bios names; otherwise the one with that name in another version or spelling."""
    paths = list(members(get, root_link(root, "Registries")))
    stem = re.split(r"\.v?\d", registry_id or "BiosAttributeRegistry")[0].lower()
    by_name = [p for p in paths if last_segment(p) == registry_id]
    alike = [p for p in paths if last_segment(p).lower().startswith(stem)]
    for path in by_name or alike:
        resource = get(path)
        if resource.get("RegistryEntries"):
            return resource
        locations = resource.get("Location") or []
        english = sorted(locations, key=lambda at: not str(at.get("Language", "en")).startswith("en"))
        document = next((get(local(str(at["Uri"]))) for at in english if at.get("Uri")), {})
        if document.get("RegistryEntries"):
            return document
    return {}


def _messages(settings_info: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for message in settings_info.get("Messages") or []:
        text = str(message.get("Message") or message.get("MessageId") or "")
        for target in message.get("RelatedProperties") or []:
            if "success" not in text.lower():
                found[str(target).rsplit("/", 1)[-1]] = text
    return found
