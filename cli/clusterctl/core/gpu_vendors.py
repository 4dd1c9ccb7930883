"""The vendor of the GPUs of a node, as the controller needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.errors import ConfigError
from clusterctl_validators.gpu_vendor import UnknownVendorError, known_vendors, vendor_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl_validators.gpu import GpuVendor


def gpu_vendor_or_error(name: str, node: str) -> GpuVendor:
    """The vendor of that name.

    Raises:
        ConfigError: no module is there for it, or it cannot be used.
    """
    try:
        return vendor_named(name)
    except UnknownVendorError as e:
        hint = f"hardware_gpu_vendor is one of {', '.join(known_vendors())}; a site brings another as validators/vendor_<name>.py"
        raise ConfigError(detail=f"{node}: {e}", hint=hint) from e


def vendor_of_commands(commands: Iterable[str]) -> GpuVendor | None:
    """The vendor whose counter commands these are; None where none of them is any vendor's."""
    chosen = set(commands)
    for name in known_vendors() if chosen else ():
        vendor = vendor_named(name)
        if chosen.intersection((*vendor.counter_commands, *vendor.link_counter_commands)):
            return vendor
    return None
