"""The partition keys (P_Key) in force at the InfiniBand ports of nodes, as `clusterctl validate` reads them from the kernel of each node.

The low 15 bits of a P_Key are the partition, the highest one is full membership, as IbTenantIsolationCheck of the suite has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, NotShownError, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from site_answers import Site

TARGET = Option("target", "nodes to validate", "all")
DEFAULT_PARTITION = 0x7FFF
_PARTITION = 0x7FFF
_CHECK_OF_A_PORT = "infiniband.ports[*].pkeys"


def partition_of(key: int) -> int:
    """The partition of a P_Key, whatever the membership."""
    return key & _PARTITION


def is_management(key: int) -> bool:
    """Whether it is limited membership of the default partition: every port has that to reach the subnet manager, and two limited members cannot communicate."""
    return key == DEFAULT_PARTITION


def keys_by_node(site: Site, target: str) -> Mapping[str, set[int]]:
    """Node -> the P_Keys of its declared ports.

    Raises:
        NotShownError: no node declares InfiniBand ports.
        NotAnsweredError: a node gave no P_Keys: what it is a member of is not known.
    """
    specs = site.ask("profile", "show", target)["specs"]
    wanted = {n for s in specs if s["roles"].get("infiniband", {}).get("infiniband_ports") for n in s["nodes"]}
    if not wanted:
        raise NotShownError("no node of the inventory declares infiniband_ports")
    answered = site.ask("validate", target, "--only", _CHECK_OF_A_PORT)["nodes"]
    found = {n["name"]: _keys(n["findings"]) for n in answered}
    if missing := sorted(n for n in wanted if not found.get(n)):
        raise NotAnsweredError(f"no P_Key was read from {len(missing)} of {len(wanted)} nodes: {', '.join(missing[:5])}")
    return {n: found[n] for n in wanted}


def _keys(findings: list[dict[str, Any]]) -> set[int]:
    """Empty if one port gave none: `found` is `0x7fff, 0x8001`, or `none`."""
    by_port = [[word for word in f["found"].split(", ") if word.startswith("0x")] for f in findings]
    return {int(word, 16) for words in by_port for word in words} if all(by_port) else set()
