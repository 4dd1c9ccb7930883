"""The keys at the InfiniBand ports of nodes, as `clusterctl validate` finds them: P_Keys in the kernel of each node, and whether an M_Key protects the port.

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
_PORTS = "infiniband.ports[*]."
_P_KEYS, _M_KEY = "pkeys", "m_key"
Findings = list[dict[str, Any]]


def partition_of(key: int) -> int:
    """The partition of a P_Key, whatever the membership."""
    return key & _PARTITION


def is_management(key: int) -> bool:
    """Whether it is limited membership of the default partition: every port has that to reach the subnet manager, and two limited members cannot communicate."""
    return key == DEFAULT_PARTITION


def findings_by_node(site: Site, target: str, *, with_m_key: bool = False) -> Mapping[str, Findings]:
    """Node -> what is found at its declared ports about their P_Keys, and about the M_Key where a node declares infiniband_m_key.

    Raises:
        NotShownError: no node declares InfiniBand ports.
    """
    specs = site.ask("profile", "show", target)["specs"]
    declared = {n: s["roles"].get("infiniband", {}) for s in specs for n in s["nodes"]}
    wanted = {n for n, values in declared.items() if values.get("infiniband_ports")}
    if not wanted:
        raise NotShownError("no node of the inventory declares infiniband_ports")
    # `validate` refuses to look for a check that no node has.
    has_m_key = with_m_key and any(declared[n].get("infiniband_m_key") for n in wanted)
    checks = (_P_KEYS, _M_KEY) if has_m_key else (_P_KEYS,)
    answered = site.ask("validate", target, *(w for c in checks for w in ("--only", _PORTS + c)))["nodes"]
    found = {n["name"]: n["findings"] for n in answered}
    return {n: found.get(n, []) for n in wanted}


def keys_by_node(findings: Mapping[str, Findings]) -> Mapping[str, set[int]]:
    """Node -> the P_Keys of its declared ports.

    Raises:
        NotAnsweredError: a node gave no P_Keys: what it is a member of is not known.
    """
    keys = {n: _keys(_of(_P_KEYS, rows)) for n, rows in findings.items()}
    if missing := sorted(n for n, found in keys.items() if not found):
        raise NotAnsweredError(f"no P_Key was read from {len(missing)} of {len(keys)} nodes: {', '.join(missing[:5])}")
    return keys


def m_key_outcomes(findings: Mapping[str, Findings]) -> Mapping[str, set[str]]:
    """Node -> the outcomes of the finding about the M_Key at its ports; empty for a node that does not declare infiniband_m_key, or did not answer."""
    return {n: {f["outcome"] for f in _of(_M_KEY, rows)} for n, rows in findings.items()}


def _of(check: str, findings: Findings) -> Findings:
    return [f for f in findings if f["check"].endswith(f".{check}")]


def _keys(findings: Findings) -> set[int]:
    """Empty if one port gave none: `found` is `0x7fff, 0x8001`, or `none`."""
    by_port = [[word for word in f["found"].split(", ") if word.startswith("0x")] for f in findings]
    return {int(word, 16) for words in by_port for word in words} if all(by_port) else set()
