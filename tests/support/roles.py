"""The roles of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.plain_yaml import load_yaml

ROOT = Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / "playbooks" / "collections"
ROLES_ENVIRONMENT = {"ANSIBLE_ROLES_PATH": str(ROOT / "roles"), "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)}
"""Environment with which a playbook outside the tree finds the roles and their plugins."""


@dataclass(frozen=True)
class Role:
    """One role: options (argument_specs), defaults and folder."""

    name: str
    path: Path
    options: dict[str, dict[str, Any]]
    defaults: dict[str, Any]


def load_role(path: Path) -> Role:
    """Read a role's argument_specs and defaults."""
    specs = load_yaml((path / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    defaults = load_yaml((path / "defaults" / "main.yml").read_text()) or {}
    return Role(path.name, path, specs["main"].get("options", {}), defaults)


def all_roles() -> list[Role]:
    """Every role of the tree that can be applied, by name: one without argument specs is exempt in exempt_roles.yml."""
    return [load_role(p.parents[1]) for p in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml"))]


def exemptions(name: str) -> dict[str, Any]:
    """The exemptions in a file of tests/contract, with their reasons."""
    file = ROOT / "tests" / "contract" / name
    return (load_yaml(file.read_text()) or {}) if file.is_file() else {}
