"""The roles of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

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
    specs = yaml.safe_load((path / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    defaults = yaml.safe_load((path / "defaults" / "main.yml").read_text()) or {}
    return Role(path.name, path, specs["main"].get("options", {}), defaults)


def all_roles() -> list[Role]:
    """All roles of the tree, by name."""
    return [load_role(p) for p in sorted((ROOT / "roles").iterdir()) if p.is_dir()]


def exemptions(name: str) -> dict[str, Any]:
    """The exemptions in a file of tests/contract, with their reasons."""
    file = ROOT / "tests" / "contract" / name
    return (yaml.safe_load(file.read_text()) or {}) if file.is_file() else {}
