"""What the roles install on a node and which apt preferences they write, from the node's resolved spec and the roles' own templates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from jinja2 import Environment, StrictUndefined
from jinja2.nativetypes import NativeEnvironment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clusterctl.model.node import NodeSpec

# role -> its template of a file in /etc/apt/preferences.d, and the variable without which the role does not write it
PREFERENCES = {
    "kernel": ("pin.j2", "kernel_package"),
    "ofed": ("preferences.j2", "ofed_exclude_distribution"),
    "nvidia_driver": ("preferences.j2", "nvidia_driver_packages"),
}
_FACTS = {"distribution": "Ubuntu", "os_family": "Debian"}
_PRIVATE = re.compile(r"\b__\w+")


@dataclass(frozen=True, slots=True)
class DeclaredPackages:
    """The packages of one role, as (name, version); without a version any will do.

    Attributes:
        recommends: the role also installs what the packages only recommend.
        preferences: the file that it writes to /etc/apt/preferences.d; empty if it writes none.
    """

    role: str
    packages: tuple[tuple[str, str], ...]
    recommends: bool = False
    preferences: str = ""


def declared_packages(spec: NodeSpec, order: Mapping[str, int], roles: Path) -> tuple[DeclaredPackages, ...]:
    """The roles that install packages, in the order in which the playbook applies them; `roles` is the folder of the roles."""
    found = []
    for role, variables in sorted(spec.roles.items(), key=lambda item: order.get(item[0], len(order))):
        packages = _kernel(variables) if role == "kernel" else tuple(_names(variables.get(f"{role}_packages") or ()))
        if packages:
            # The roles pass install_recommends: false only where they name exact versions through shared/tasks/packages.yml.
            recommends = role == "kernel" or not all(version for _, version in packages)
            found.append(DeclaredPackages(role, packages, recommends, preferences_text(role, variables, roles)))
    return tuple(found)


def _names(packages: Any) -> list[tuple[str, str]]:
    return [(p, "") if isinstance(p, str) else (str(p["name"]), str(p["version"])) for p in packages]


def _kernel(variables: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    names = [variables["kernel_package"], *variables["kernel_extra_packages"]]
    return tuple((str(name), str(variables["kernel_version"])) for name in names if name)


def preferences_text(role: str, variables: Mapping[str, Any], roles: Path) -> str:
    """The file that a role writes to /etc/apt/preferences.d with these variables; empty if it writes none."""
    name, needed = PREFERENCES.get(role, ("", ""))
    if not name or not variables[needed]:
        return ""
    text = (roles / role / "templates" / name).read_text(encoding="utf-8")
    context = {**variables, "ansible_facts": _FACTS}
    private = yaml.safe_load((roles / role / "vars" / "main.yml").read_text(encoding="utf-8")) or {}
    # Only those that the template names: the others need facts of the node.
    native = NativeEnvironment(undefined=StrictUndefined)
    context |= {used: native.from_string(private[used]).render(context) for used in set(_PRIVATE.findall(text))}
    # As Ansible's module template renders.
    environment = Environment(trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined, autoescape=False)  # noqa: S701 no HTML
    return environment.from_string(text).render(context)
