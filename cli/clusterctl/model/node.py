"""A node of the inventory: name, place, connection and declared state."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# As the store keeps names.
_LONGEST_NAME = 255
SSH_KINDS = frozenset({"ssh", "smart", "ansible.builtin.ssh"})


def one_spelling(host: str) -> str:
    """The usual spelling of an address: one of IPv6 has many; other hosts as they are."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a node, from the inventory's ansible_* variables.

    Attributes:
        ssh_args: ansible_ssh_common_args + ansible_ssh_extra_args, split (UserKnownHostsFile, ProxyJump ...).
        become_method: with any method but "sudo", checks run through a playbook.
        become_password: a password is set where Ansible finds it; it is not stored here.
        kind: ansible_connection; with any connection but "ssh", checks run through a playbook.
    """

    host: str
    port: int = 22
    user: str = "root"
    key_path: str | None = None
    ssh_args: tuple[str, ...] = ()
    become: bool = False
    become_user: str = "root"
    become_method: str = "sudo"
    become_password: bool = False
    python: str = "/usr/bin/python3"
    kind: str = "ssh"

    @property
    def by_sudo(self) -> bool:
        """Whether commands need sudo: become_user differs from the login user."""
        return self.become and self.user != self.become_user

    @property
    def machine(self) -> str:
        """What it reaches, whatever the node is called: `10.0.0.1 port 22`. Empty where that is not known: Ansible has another way there."""
        jumps = [word for word in self.ssh_args if "proxy" in word.lower()]
        return " ".join((f"{one_spelling(self.host)} port {self.port}", *jumps))[:_LONGEST_NAME] if self.kind == "ssh" else ""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a node; empty strings where the inventory does not declare it. `slot` is its position in the rack; `site` names the workers that reach it."""

    rack: str = ""
    row: str = ""
    su: str = ""
    leaf: str = ""
    spine: str = ""
    nvlink_domain: str = ""
    slot: int = 0
    site: str = ""

    @property
    def domain(self) -> str:
        """Its NVLink domain: the rack where none is declared."""
        return self.nvlink_domain or self.rack

    @property
    def switch(self) -> str:
        """Its leaf: the rack where none is declared."""
        return self.leaf or self.rack


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """The declared state of a class of nodes.

    Attributes:
        roles: role name -> its variables, templated, secrets left out; in the order of `node_roles`.
        gates: the `gates_*` variables (what burn-in measures and how it is judged).
        waivers: per-node deviations `{check, reason, owner, expires}`.
        observe: what is measured and does not decide: `{check, reason}` or `{gate, rule, reason}`.
        owners: the roles whose part of the node is owned elsewhere, `{role, owner, change}`: verified, never applied.
        digest: sha256 of the canonical JSON of `roles`; a node is admitted under it.
    """

    roles: Mapping[str, Mapping[str, Any]]
    gates: Mapping[str, Any]
    waivers: tuple[Mapping[str, str], ...]
    digest: str
    observe: tuple[Mapping[str, str], ...] = ()
    owners: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the inventory with its resolved spec. `groups` are all its groups, nearest last; `rail_leaves`: rail -> leaf switch."""

    name: str
    groups: tuple[str, ...]
    connection: Connection
    place: Place
    spec: NodeSpec
    bmc_url: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    rail_leaves: Mapping[str, str] = field(default_factory=dict)

    @property
    def profile(self) -> str:
        """Its nearest profile group (`profile_hgx_h100_ib`), or an empty string."""
        return nearest_profile(self.groups)


def nearest_profile(groups: Sequence[str]) -> str:
    """The nearest of `groups` (nearest last) that is a profile, or an empty string."""
    return next((g for g in reversed(groups) if g.startswith("profile_")), "")
