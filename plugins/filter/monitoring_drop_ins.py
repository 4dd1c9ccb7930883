"""Which drop-ins give an exporter another memory limit, as pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MIB = 1048576


def drop_ins(answers: Sequence[Mapping[str, Any]], limit_mib: int) -> list[str]:
    """Paths of the drop-ins of units whose limit is another one; a drop-in for all services (service.d) is the site's and stays.

    Args:
        answers: the results of `systemctl show -p MemoryMax -p DropInPaths` in a loop over the exporters.
        limit_mib: the declared limit, MiB; 0 = none.
    """
    wanted = str(limit_mib * _MIB) if limit_mib else "infinity"
    paths: list[str] = []
    for answer in answers:
        said = dict(line.split("=", 1) for line in answer["stdout"].splitlines() if "=" in line)
        if said.get("MemoryMax", wanted) != wanted:
            own = f"/{answer['item']['unit']}.d/"
            paths += [path for path in said.get("DropInPaths", "").split() if own in path]
    return paths


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name -> function."""
        return {"monitoring_drop_ins": drop_ins}
