"""Where Ansible runs for a node: on the node itself, or on the controller, with the reason. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from clusterctl.model.node import SSH_KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clusterctl.model.node import Connection, Node

# Ansible's settings that mean nothing on the node, or that clusterctl hands on by itself; any other one may change what roles do
_HARMLESS = re.compile(
    r"ANSIBLE_(?:CONFIG|HOME|FORKS|TIMEOUT|NOCOLOR|FORCE_COLOR|PIPELINING|HOST_KEY_CHECKING|PRIVATE_KEY_FILE|INVENTORY\w*|VAULT_\w+|SSH_\w+"
    r"|BECOME_PASS\w*|SUDO_PASS\w*|DEPRECATION_WARNINGS|RETRY_FILES_ENABLED|LOCAL_TEMP|COLLECTIONS_PATH|COLLECTIONS_ON_ANSIBLE_VERSION_MISMATCH)"
)


@dataclass(frozen=True, slots=True)
class ApplyPart:
    """Roles that run one after the other at the same place."""

    roles: tuple[str, ...]
    on_node: bool


@dataclass(frozen=True, slots=True)
class ControllerNeeds:
    """What a role does from the controller.

    Attributes:
        always: whatever is declared.
        variables: only while one of these is set to anything.
    """

    always: bool = False
    variables: tuple[str, ...] = ()

    def applies(self, declared: Mapping[str, Any]) -> bool:
        """Whether the role needs the controller under the declared state of a node."""
        return self.always or any(_anything(declared.get(name)) for name in self.variables)


def apply_parts(roles: Sequence[str], order: Sequence[str], from_controller: Collection[str]) -> tuple[ApplyPart, ...]:
    """The roles of a node as parts: in the order of the playbook, roles of the site before or after its listed ones as `node_roles` has them."""
    listed = [r for r in roles if r in order]
    first = roles.index(listed[0]) if listed else len(roles)
    place = {r: (order.index(r) if r in order else (-1 if roles.index(r) < first else len(order))) for r in roles}
    ordered = sorted(roles, key=lambda r: (place[r], roles.index(r)))
    return tuple(ApplyPart(tuple(group), on_node) for on_node, group in groupby(ordered, lambda r: r not in from_controller))


def node_problem(node: Node, python: str, oldest: tuple[int, int]) -> str:
    """Why Ansible cannot run on this node; empty if it can, or if only the node itself shows that.

    Args:
        node: with its connection.
        python: the version of its Python, as its last validation reported it; empty if unknown.
        oldest: the oldest Python that Ansible runs on.
    """
    if problem := _connection_problem(node.connection):
        return problem
    version = re.match(r"(\d+)\.(\d+)", python)
    if version and (int(version[1]), int(version[2])) < oldest:
        return f"its Python {version[0]} is older than {'.'.join(map(str, oldest))}"
    return ""


def run_problem(ansible_args: Sequence[str], extra_vars: Sequence[str], environment: Mapping[str, str]) -> str:
    """Why Ansible cannot run on any node in this run: options and settings that only Ansible on the controller understands."""
    words = [w for w in ansible_args if w not in ("-e", "--extra-vars") and w not in extra_vars]
    if words:
        return f"{words[0]} is an option of Ansible on the controller"
    setting = next((name for name in sorted(environment) if name.startswith("ANSIBLE_") and not _HARMLESS.fullmatch(name)), "")
    return f"{setting} is set for Ansible on the controller" if setting else ""


def _connection_problem(connection: Connection) -> str:
    if connection.kind not in SSH_KINDS:
        return f"it is reached by {connection.kind}"
    if (connection.become_user if connection.become else connection.user) != "root":
        return "it is not changed as root"
    if connection.by_sudo and connection.become_method != "sudo":
        return f"it becomes root by {connection.become_method}"
    return ""


def _anything(value: Any) -> bool:
    """Whether a value declares anything: an empty mapping, or one of empty values, does not."""
    if isinstance(value, dict):
        return any(_anything(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return bool(value)
    return bool(value)
