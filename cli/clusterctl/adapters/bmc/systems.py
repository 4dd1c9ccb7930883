"""The system behind a BMC. An HGX machine has two: the server, and the baseboard of its GPUs without BIOS and power switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.adapters.bmc.exchange import BmcError
from clusterctl.adapters.bmc.redfish import Redfish, link

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.adapters.bmc.host_power import BmcLimits

ROOT = "/redfish/v1/"


def one_system(
    client: Redfish, root: dict[str, Any], limits: BmcLimits, matches: Callable[[dict[str, Any]], bool], what: str
) -> dict[str, Any]:
    """The system that `matches`; `limits.system_id` chooses among several.

    Raises:
        BmcError: it is not exactly one; the text says `what` was searched for.
    """
    systems = [client.get(path) for path in client.members(link(root, "Systems"))]
    found = [s for s in systems if matches(s) and limits.system_id in ("", s.get("Id"))]
    if len(found) != 1:
        ids = ", ".join(str(s.get("Id")) for s in systems) or "none"
        choice = f"; set {limits.setting}" if limits.setting else ""
        raise BmcError(f"{len(found) or 'no'} systems with {what} among: {ids}{choice}")
    return found[0]
