"""Declared mounts in the form that their units and the script `clusterctl-storage-client` need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.mount_unit import complete

if TYPE_CHECKING:
    from collections.abc import Mapping


def settings(declared: Mapping[str, Any]) -> dict[str, Any]:
    """The settings file of the script, from the role's variables.

    Args:
        declared: storage_client_mounts, storage_client_module_parameters and storage_client_tunables by name.
    """
    modules = declared["storage_client_module_parameters"]
    return {
        "mounts": [complete(mount) for mount in declared["storage_client_mounts"]],
        "module_parameters": {m: {name: running(value) for name, value in p.items()} for m, p in modules.items()},
        "tunables": [{k: str(t[k]) for k in ("kind", "name", "value")} for t in declared["storage_client_tunables"]],
    }


def running(value: object) -> str:
    """A module parameter as /sys shows it."""
    return ("Y" if value else "N") if isinstance(value, bool) else str(value)


def parameter(value: object) -> str:
    """A module parameter in modprobe syntax.

    Args:
        value: the declared value: a number, a boolean or text.
    """
    text = running(value)
    return f'"{text}"' if " " in text else text


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"storage_client_settings": settings, "storage_client_parameter": parameter}
