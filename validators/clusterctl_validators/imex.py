"""Pure readers of IMEX: nodes file, configuration, and `nvidia-imex-ctl -N -j`, the state of the domain as one member reports it."""

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple


class UnreadableImexError(ValueError):
    """The output of nvidia-imex-ctl is not the state of a domain."""


@dataclass(frozen=True)
class Member:
    """A compute tray of the domain; `connections`: address of a member -> `CONNECTED`, `NEVER_CONNECTED`, `INVALID` ..."""

    address: str
    status: str
    connections: Mapping[str, str]


@dataclass(frozen=True)
class Domain:
    """`status`: UP, DEGRADED or DOWN."""

    status: str
    members: Tuple[Member, ...]

    def ready(self) -> List[str]:
        """The addresses of the members that are ready."""
        return [m.address for m in self.members if m.status == "READY"]


def parse_nodes(text: str) -> List[str]:
    """The addresses of nodes_config.cfg, in order."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def parse_config(text: str) -> Dict[str, str]:
    """KEY -> value of config.cfg; the last line of a key counts."""
    found = (re.match(r"\s*([A-Z_]+)\s*=\s*(.*?)\s*$", line) for line in text.splitlines())
    return {m.group(1): m.group(2) for m in found if m}


def parse_domain(text: str) -> Domain:
    """Parse `nvidia-imex-ctl -N -j`. Raises UnreadableImexError if it is not the state of a domain with members."""
    try:
        state = json.loads(text)
        nodes = state["nodes"]
        members = tuple(_member(nodes[key]) for key in sorted(nodes, key=int))
        status = str(state["status"])
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        words = text.strip().splitlines()
        raise UnreadableImexError("nvidia-imex-ctl -N -j: {}".format(words[0][:120] if words else "no output")) from e
    if not members:
        raise UnreadableImexError("nvidia-imex-ctl -N -j lists no member")
    return Domain(status, members)


def _member(node: Mapping[str, Any]) -> Member:
    return Member(str(node["host"]), str(node["status"]), {str(c["host"]): str(c["status"]) for c in node["connections"].values()})


def own_member(domain: Domain, addresses: Sequence[str]) -> Member:
    """The member that has one of these addresses. Raises UnreadableImexError unless exactly one has."""
    own = [m for m in domain.members if m.address in addresses]
    if len(own) != 1:
        found = ", ".join(m.address for m in own) or "none"
        raise UnreadableImexError("exactly one member should have an address of this node; found: {}".format(found))
    return own[0]
