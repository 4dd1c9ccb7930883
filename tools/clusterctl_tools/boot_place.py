"""Where a machine keeps its boot order and its boot override, found by links.

Four ways, from the recorded trees and from NVIDIA/libredfish (c094c9e): `Boot.BootOrder` in the settings object of the system (DGX H100, GB200; Lenovo),
in the system itself (Dell before iDRAC9 7, where the write schedules a job for the next reset; later ones have a settings object, too), Supermicro's fixed
order of classes, and HPE's boot settings.
"""

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Tuple

from .boot_order import BootOption, BootOrderError

Get = Callable[[str], Mapping[str, Any]]
"""Reads a resource; {} for one that does not exist."""
Members = Callable[[str], Iterable[str]]
"""The paths in a collection."""
_EMPTY_SLOT = "Disabled"
_TARGET = "BootSourceOverrideTarget"
_UEFI = "UEFI"
# HPE's boot settings: tree of a DL385 Gen10 Plus v2 with iLO 5 2.72 (NVIDIA/libredfish c094c9e, tests/mockups/hpe). Dell: that attributes and boot order
# share one queue of jobs, which the role works around, is assumed. DGX H100: that `BootOption1` of its BIOS follows the written order is assumed.


@dataclass(frozen=True)
class BootPlace:
    """The boot order of one machine.

    Attributes:
        current: in force, first to last.
        pending: after the next reset; as `current` where the service does not show it.
        path: the resource that takes the write, with `etag`.
        keys: of the order in that resource, outermost first.
        shows_pending: whether a written order can be read back before the reset.
    """

    current: Tuple[BootOption, ...]
    pending: Tuple[BootOption, ...]
    path: str
    keys: Tuple[str, ...]
    etag: str = ""
    shows_pending: bool = True

    def body(self, order: Sequence[BootOption]) -> Dict[str, Any]:
        """The body of the PATCH request."""
        body: Any = [o.reference for o in order]
        for key in reversed(self.keys):
            body = {key: body}
        return dict(body)


@dataclass(frozen=True)
class OverridePlace:
    """A resource that may take a one-time boot override.

    Attributes:
        targets: the values that the service lists; empty if it lists none.
        target: what is set now; empty if nothing is.
        mode: what must be written beside the target: `UEFI`, or empty.
    """

    path: str
    etag: str
    targets: Tuple[str, ...]
    target: str
    mode: str = ""


def boot_place(get: Get, members: Members, system: Mapping[str, Any]) -> BootPlace:
    """The boot order of a system.

    Raises:
        BootOrderError: it has none.
    """
    fixed = _link((system.get("Oem") or {}).get("Supermicro") or {}, "FixedBootOrder")
    if fixed:
        resource = get(fixed)
        classes = _named(resource.get("FixedBootOrder"))
        return BootPlace(classes, classes, fixed, ("FixedBootOrder",), str(resource.get("@odata.etag") or ""))
    hpe = (
        _link(((get(_link(system, "Bios")).get("Oem") or {}).get("Hpe") or {}).get("Links") or {}, "Boot") if _link(system, "Bios") else ""
    )
    if hpe:
        resource = get(hpe)
        sources = {o.reference: o for o in map(_source, resource.get("BootSources") or [])}
        return _settings_place(
            get, resource, hpe, ("PersistentBootConfigOrder",), lambda order: tuple(sources.get(o.reference, o) for o in _named(order))
        )
    boot = system.get("Boot") or {}
    if not isinstance(boot.get("BootOrder"), list):
        raise BootOrderError("the system has no boot order that can be read by Redfish")
    options = {o.reference: o for o in (_option(get(path)) for path in members(_link(boot, "BootOptions")))}

    def known(order: Any) -> Tuple[BootOption, ...]:
        return tuple(_of_entry(options, str(entry)) for entry in order or [])

    return _settings_place(get, system, str(system["@odata.id"]), ("Boot", "BootOrder"), known)


def _of_entry(options: Mapping[str, BootOption], entry: str) -> BootOption:
    """The option of an entry of the order, which may be followed by its name (`Boot0019: Ubuntu` on VR NVL72, NVIDIA/nv-redfish 7ac2181): written as it was read."""
    known = options.get(entry) or options.get(entry.partition(": ")[0])
    return replace(known, reference=entry) if known else BootOption(entry, entry)


def override_places(get: Get, system: Mapping[str, Any]) -> List[OverridePlace]:
    """Where a boot override may be written, in the order to try: the settings object first, which DGX H100 and GB200 require.

    That of a Dell (iDRAC9 7.10) has a Boot without a target, and takes none.
    """
    settings_path = _settings_path(system)
    found = [(settings_path, get(settings_path))] if settings_path else []
    with_mode = "Supermicro" in (system.get("Oem") or {})
    places = [*found, (str(system["@odata.id"]), system)]
    return [_override(path, r, with_mode=with_mode) for path, r in places if any(k.startswith(_TARGET) for k in r.get("Boot") or {})]


def _settings_place(
    get: Get, resource: Mapping[str, Any], path: str, keys: Tuple[str, ...], read: Callable[[Any], Tuple[BootOption, ...]]
) -> BootPlace:
    current = read(_value(resource, keys))
    settings_path = _settings_path(resource)
    settings = get(settings_path) if settings_path else {}
    if not settings:
        return BootPlace(current, current, path, keys, str(resource.get("@odata.etag") or ""), shows_pending=False)
    pending = read(_value(settings, keys))
    # An empty list (iDRAC9 7.10): dell/iDRAC-Redfish-Scripting e7ba763 writes there on iDRAC10; that iDRAC9 takes it, too, is assumed.
    return BootPlace(current, pending or current, settings_path, keys, str(settings.get("@odata.etag") or ""), shows_pending=bool(pending))


def _settings_path(resource: Mapping[str, Any]) -> str:
    return _link(resource.get("@Redfish.Settings") or {}, "SettingsObject")


def _value(resource: Mapping[str, Any], keys: Tuple[str, ...]) -> Any:
    value: Any = resource
    for key in keys:
        value = (value or {}).get(key)
    return value


def _named(order: Any) -> Tuple[BootOption, ...]:
    """An order of names without resources of their own."""
    return tuple(BootOption(str(name), str(name), usable=str(name) != _EMPTY_SLOT) for name in order or [])


def _option(resource: Mapping[str, Any]) -> BootOption:
    """One BootOption. Dell marks the loader of a system whose disk is gone by its name."""
    name = str(resource.get("DisplayName") or resource.get("Name") or "")
    enabled = resource.get("BootOptionEnabled") is not False and not name.startswith("Unavailable")
    reference = str(resource.get("BootOptionReference") or resource.get("Id") or "")
    return BootOption(reference, name, str(resource.get("UefiDevicePath") or ""), str(resource.get("Alias") or ""), enabled)


def _source(resource: Mapping[str, Any]) -> BootOption:
    """One of HPE's boot sources; the order has its structured name, which for a loader of an operating system has no information."""
    reference = str(resource.get("StructuredBootString") or "")
    return BootOption(reference, str(resource.get("BootString") or reference), str(resource.get("UEFIDevicePath") or ""))


def _override(path: str, resource: Mapping[str, Any], *, with_mode: bool) -> OverridePlace:
    """The mode is left out where it is UEFI already: a Dell schedules a job for it and boots twice (ironcore-dev/metal-operator issue 81).

    A Supermicro takes no target without it (DMTF/Redfishtool issue 106).
    """
    boot = resource["Boot"] or {}
    active = str(boot.get("BootSourceOverrideEnabled") or "Disabled") != "Disabled"
    target = str(boot.get(_TARGET) or "None") if active else "None"
    targets = tuple(str(t) for t in boot.get(_TARGET + "@Redfish.AllowableValues") or ())
    mode = boot.get("BootSourceOverrideMode", _UEFI)
    writes_mode = mode != _UEFI or (with_mode and "BootSourceOverrideMode" in boot)
    etag = str(resource.get("@odata.etag") or "")
    return OverridePlace(path, etag, targets, "" if target == "None" else target, _UEFI if writes_mode else "")


def _link(resource: Mapping[str, Any], name: str) -> str:
    """The path that a resource links to; empty without one."""
    return str((resource.get(name) or {}).get("@odata.id") or "")
