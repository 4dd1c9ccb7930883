"""Names of RDMA devices in udev, and the declared ones that wait for their names, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_KERNEL = "kernel"
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


def name_errors(declared: Sequence[str], scheme: str) -> list[str]:
    """Declared devices that cannot exist because the scheme gives no such names, one line each."""
    return [
        f"ofed_devices: {d} is not a name of the scheme {scheme} (ofed_device_names)" for d in declared if scheme and scheme_of(d) != scheme
    ]


def awaited(declared: Sequence[str], scheme: str, sysfs: Mapping[str, Any]) -> list[str]:
    """Declared devices that appear at the next boot: absent while adapters have names of another scheme.

    Without such adapters an absent device is missing, and no boot makes it appear.

    Args:
        declared: names of `ofed_devices`.
        scheme: `ofed_device_names`; empty means that names are not managed, so no device is awaited.
        sysfs: the result of ofed_sysfs: `devices` (name -> `address`), `adapters` (PCI addresses of NVIDIA adapters).
    """
    devices = sysfs["devices"]
    others = [n for n, d in devices.items() if d["address"] in sysfs["adapters"] and scheme_of(n) != scheme]
    return [d for d in declared if d not in devices] if scheme and others else []


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"ofed_name_errors": name_errors, "ofed_names_awaited": awaited}
