"""Drop-ins that change the memory limit of an exporter, as pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.systemctl import parse_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MIB = 1048576


def drop_ins(answers: Sequence[Mapping[str, Any]], limit_mib: int) -> list[str]:
    """Drop-ins of the units whose limit differs; a drop-in for all services (service.d) belongs to the site and is kept.

    Args:
        answers: the results of `systemctl show -p MemoryMax -p DropInPaths` in a loop over the exporters.
        limit_mib: the declared limit in MiB; 0 means none.
    """
    expected = str(limit_mib * _MIB) if limit_mib else "infinity"
    paths: list[str] = []
    for answer in answers:
        properties = parse_properties(answer["stdout"])
        if properties.get("MemoryMax", expected) != expected:
            own = f"/{answer['item']['unit']}.d/"
            paths += [path for path in properties.get("DropInPaths", "").split() if own in path]
    return paths


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"monitoring_drop_ins": drop_ins}
