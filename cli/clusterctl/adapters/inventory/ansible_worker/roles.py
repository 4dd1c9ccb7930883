"""What roles accept: their argument specs and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from ansible.errors import AnsibleError

from clusterctl.adapters.inventory.ansible_worker.argument_schema import without_secrets
from clusterctl.adapters.inventory.ansible_worker.failures import config_failure, from_ansible
from clusterctl.model.problem import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


_PLAIN = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_PLAIN):  # type: ignore[misc, valid-type] # it depends on how PyYAML was built
    """Plain YAML, which takes a seventh of the time of Ansible's, whose values carry their places. A key that stands twice is an error, as there."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if len(keys) != len(set(map(str, keys))):
            raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


@dataclass(frozen=True, slots=True)
class Role:
    """A role with a schema.

    Attributes:
        options: the options of the entry point `main`, as in `meta/argument_specs.yml`.
        defaults: raw `defaults/main.yml`, tagged with its origin.
    """

    name: str
    options: dict[str, dict[str, Any]]
    defaults: dict[str, Any] = field(default_factory=dict)

    @property
    def open_options(self) -> dict[str, dict[str, Any]]:
        """The options that may appear in a spec: all but secrets."""
        return {k: v for k, v in self.options.items() if not v.get("no_log")}

    @property
    def required_secrets(self) -> list[str]:
        """The `no_log` options that must be set; their values are never looked at."""
        return [k for k, v in self.options.items() if v.get("no_log") and v.get("required")]

    def public(self, name: str, value: Any) -> Any:
        """The value of one of its variables without secrets; None for a secret."""
        option = self.options.get(name, {})
        if option.get("no_log"):
            return None
        inner = option.get("options")
        return without_secrets(inner, value) if inner and _has_secret(inner) else value


def load_roles(loader: Any, role_dirs: Iterable[Path]) -> dict[str, Role]:
    """Every role of some folders that has an argument spec.

    Raises:
        WorkerError: a spec or a defaults file cannot be read, or two roles have one name.
    """
    found: dict[str, Role] = {}
    files = [spec for folder in role_dirs for spec in sorted(folder.glob("*/meta/argument_specs.yml"))]
    folders: dict[str, Path] = {}
    for spec in files:
        name = spec.parent.parent.name
        if name in folders:
            raise config_failure(
                f"two roles are called {name!r}: {shown_path(str(folders[name]))} and {shown_path(str(spec.parent.parent))}",
                "rename the one of the site, and its variables",
            )
        folders[name] = spec.parent.parent
        entry = (_load_spec(loader, spec).get("argument_specs") or {}).get("main") or {}
        defaults = spec.parent.parent / "defaults" / "main.yml"
        found[name] = Role(name, entry.get("options") or {}, _load(loader, defaults) if defaults.is_file() else {})
    return found


def role_of(variable: str, roles: dict[str, Role]) -> Role | None:
    """The role whose prefix the variable carries; the longest prefix wins."""
    owners = [r for n, r in roles.items() if variable.startswith(f"{n}_")]
    return max(owners, key=lambda r: len(r.name), default=None)


def _has_secret(options: dict[str, dict[str, Any]]) -> bool:
    return any(o.get("no_log") or _has_secret(o.get("options") or {}) for o in options.values())


def _load_spec(loader: Any, file: Path) -> dict[str, Any]:
    """An argument spec. What plain YAML has no values for, and what is wrong, is Ansible's."""
    try:
        data = yaml.load(file.read_text(encoding="utf-8"), Loader=_StrictLoader)  # noqa: S506 a safe one
    except (OSError, ValueError, yaml.YAMLError):
        return _load(loader, file)
    return data if isinstance(data, dict) else _load(loader, file)


def _load(loader: Any, file: Path) -> dict[str, Any]:
    try:
        data = loader.load_from_file(str(file), unsafe=True, trusted_as_template=True) or {}
    except AnsibleError as e:
        raise from_ansible(e) from e
    if not isinstance(data, dict):
        raise config_failure(f"{file}: is not a mapping", "correct the role")
    return data
