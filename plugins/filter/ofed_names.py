"""Names of RDMA devices in udev, and the declared ones that wait for their names, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_KERNEL = "kernel"
# Names that a driver gives by itself: mlx5_3, mlx5_bond_0, bnxt_re0, irdma1.
_ENUMERATED = re.compile(r"(mlx[45](_bond)?_|bnxt_re|irdma|hfi1_|qedr|siw|rxe)\d+")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,31}")
_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_PROTOCOL = "(ib|roce|iw|opa|rdma)"
# Names from rdma_rename of rdma-core: ibp24s0, ibP2p3s0f1v4, roces5, ibo3, rocex525400c0fe123455.
_RENAMED = {
    "pci": re.compile(_PROTOCOL + r"(P\d+)?(s\d+|p\d+s\d+)(f\d+(v\d+)?)?"),
    "guid": re.compile(_PROTOCOL + r"x[0-9a-f]{16}"),
    "onboard": re.compile(_PROTOCOL + r"o\d+"),
}


def scheme_of(name: str) -> str:
    """`pci`, `guid` or `onboard` for names from rdma_rename; `kernel` for every other name."""
    return next((scheme for scheme, form in _RENAMED.items() if form.fullmatch(name)), _KERNEL)


def name_errors(declared: Sequence[str], scheme: str, addresses: Mapping[str, str] | None = None) -> list[str]:
    """Declared devices that cannot exist because nothing gives them such names, one line each.

    Args:
        declared: names of `ofed_devices`.
        scheme: `ofed_device_names`.
        addresses: `ofed_device_addresses`: name -> PCI address; these have names of their own in every scheme.
    """
    fixed = addresses or {}
    errors = [
        f"ofed_devices: {d} is not a name of the scheme {scheme} (ofed_device_names)"
        for d in declared
        if scheme and d not in fixed and scheme_of(d) != scheme
    ]
    errors += [
        f"ofed_device_addresses: {d} is a name that the kernel or udev gives to another device: choose one such as mlx5_r0"
        for d in fixed
        if _ENUMERATED.fullmatch(d) or scheme_of(d) != _KERNEL or not _PLAIN.fullmatch(d)
    ]
    errors += [
        f"ofed_device_addresses.{d}: {a} is not a PCI address such as 0000:18:00.0" for d, a in fixed.items() if not _ADDRESS.fullmatch(a)
    ]
    errors += [
        f"ofed_device_addresses: {a} is declared twice" for a in sorted({a for a in fixed.values() if list(fixed.values()).count(a) > 1})
    ]
    if fixed and not scheme:
        errors.append("ofed_device_addresses is declared, but ofed_device_names is empty, so this role writes no udev rule")
    return errors


def managed(declared: Sequence[str], addresses: Mapping[str, str], sysfs: Mapping[str, Any]) -> dict[str, Any]:
    """Declared device -> its row of `sysfs`: the device at its PCI address, whatever its name is now, or of its name where none is declared.

    Args:
        declared: names of `ofed_devices`.
        addresses: `ofed_device_addresses`: name -> PCI address.
        sysfs: the result of ofed_sysfs.
    """
    devices = sysfs["devices"]
    at = {d["address"]: d for d in devices.values()}
    found = {d: at.get(addresses[d]) if d in addresses else devices.get(d) for d in declared}
    return {d: row for d, row in found.items() if row}


def awaited(declared: Sequence[str], scheme: str, sysfs: Mapping[str, Any], addresses: Mapping[str, str] | None = None) -> list[str]:
    """Declared devices that appear at the next boot: absent while adapters have other names.

    Without such adapters an absent device is missing, and no boot makes it appear.

    Args:
        declared: names of `ofed_devices`.
        scheme: `ofed_device_names`; empty means that names are not managed, so no device is awaited.
        sysfs: the result of ofed_sysfs: `devices` (name -> `address`), `adapters` (PCI addresses of NVIDIA adapters).
        addresses: `ofed_device_addresses`: the device at this address has another name.
    """
    devices, fixed = sysfs["devices"], addresses or {}
    renamed = [d for d in managed(declared, fixed, sysfs) if d not in devices]
    others = [n for n, d in devices.items() if d["address"] in sysfs["adapters"] and scheme_of(n) != scheme]
    return [d for d in declared if d not in devices and (d in renamed or (d not in fixed and others))] if scheme else []


def absent(declared: Sequence[str], addresses: Mapping[str, str], sysfs: Mapping[str, Any], waiting: Sequence[str]) -> list[str]:
    """Declared devices that neither exist nor wait for their names, with their PCI address where it is declared.

    Args:
        declared: names of `ofed_devices`.
        addresses: `ofed_device_addresses`: name -> PCI address.
        sysfs: the result of ofed_sysfs.
        waiting: the devices that wait for their names, from `awaited`.
    """
    known = [*managed(declared, addresses, sysfs), *waiting]
    return [f"{d} at {addresses[d]}" if d in addresses else d for d in declared if d not in known]


def names_now(named: Sequence[str], addresses: Mapping[str, str], sysfs: Mapping[str, Any]) -> list[str]:
    """These devices by the names that they have now.

    Args:
        named: names of `ofed_devices`.
        addresses: `ofed_device_addresses`: name -> PCI address.
        sysfs: the result of ofed_sysfs.
    """
    at = {d["address"]: n for n, d in sysfs["devices"].items()}
    return [at.get(addresses.get(d, ""), d) for d in named]


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {
            "ofed_name_errors": name_errors,
            "ofed_names_awaited": awaited,
            "ofed_managed": managed,
            "ofed_absent": absent,
            "ofed_names_now": names_now,
        }
