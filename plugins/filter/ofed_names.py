"""How udev names RDMA devices, and which declared ones wait for their names, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_KERNEL = "kernel"
_PROTOCOL = "(ib|roce|iw|opa|rdma)"
# What rdma_rename of rdma-core makes: ibp24s0, ibP2p3s0f1v4, roces5, ibo3, rocex525400c0fe123455.
_RENAMED = {
    "pci": re.compile(_PROTOCOL + r"(P\d+)?(s\d+|p\d+s\d+)(f\d+(v\d+)?)?"),
    "guid": re.compile(_PROTOCOL + r"x[0-9a-f]{16}"),
    "onboard": re.compile(_PROTOCOL + r"o\d+"),
}


def scheme_of(name: str) -> str:
    """`pci`, `guid` or `onboard` as rdma_rename names devices; `kernel` for every other name."""
    return next((scheme for scheme, form in _RENAMED.items() if form.fullmatch(name)), _KERNEL)


def name_errors(declared: Sequence[str], scheme: str) -> list[str]:
    """Declared devices that can never be there, one line each: the scheme, if any, gives no such names."""
    return [f"ofed_devices: {d} is no name that ofed_device_names: {scheme} gives" for d in declared if scheme and scheme_of(d) != scheme]


def awaited(declared: Sequence[str], scheme: str, sysfs: Mapping[str, Any]) -> list[str]:
    """Declared devices that the next boot brings: absent, while adapters have names of another scheme.

    A device that is absent beside none of these is missing: no boot brings it.

    Args:
        declared: names of `ofed_devices`.
        scheme: `ofed_device_names`; empty = names are left alone, so that none is waited for.
        sysfs: what ofed_sysfs made of the node: `devices` (name -> `address`), `adapters` (PCI addresses of NVIDIA's).
    """
    devices = sysfs["devices"]
    others = [n for n, d in devices.items() if d["address"] in sysfs["adapters"] and scheme_of(n) != scheme]
    return [d for d in declared if d not in devices] if scheme and others else []


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"ofed_name_errors": name_errors, "ofed_names_awaited": awaited}
