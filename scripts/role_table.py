"""Writes docs/reference/roles.md, which shows how each role is tested; `--check` fails if it is stale.

The cells come from the tree: playbooks/provision.yml, the molecule scenarios that run the role, its validators. scripts/role_evidence.yml adds what the tree
does not contain: the real components a role was tested with, and the reasons for empty cells. A cell with neither evidence nor reason is an error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from generated_files import ROOT, write_or_check

PAGE = Path("docs/reference/roles.md")
EVIDENCE = Path("scripts/role_evidence.yml")
COLUMNS = ("apply", "check mode", "idempotent", "persists", "validated running", "validated persisted", "molecule")
# Endings of ids of checks of the running value and of the value after a reset.
_RUNNING = re.compile(r"\.(running|current)\b")
_PERSISTED = re.compile(r"\.(persisted|pending)\b")


@dataclass(frozen=True)
class Scenario:
    """A molecule scenario: the roles that it runs, and its steps."""

    name: str
    roles: frozenset[str]
    steps: tuple[str, ...]
    reboots: bool


@dataclass
class Table:
    """The rows of the page, and what is missing in the evidence."""

    rows: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def main(argv: list[str], root: Path = ROOT) -> int:
    """Write the page, or report with `--check` whether it is stale."""
    table = build(root)
    for text in table.missing:
        print(f"{EVIDENCE}: {text}", file=sys.stderr)
    return 1 if table.missing else write_or_check({root / PAGE: page(table)}, argv, root=root)


def build(root: Path) -> Table:
    """The table of all roles of the tree, by name."""
    evidence = _load(root / EVIDENCE) or {}
    scenarios = [scenario(p) for p in sorted((root / "molecule").glob("*/molecule.yml"))]
    applied = roles_of(_load(root / "playbooks" / "provision.yml"))
    names = role_names(root)
    table = Table(missing=[f"{n}: unknown role" for n in sorted(set(evidence) - set(names))])
    for name in names:
        _row(table, root, name, evidence.get(name) or {}, facts(root, name, scenarios, applied))
    return table


def role_names(root: Path) -> list[str]:
    """The roles of the tree. In a git checkout only committed or staged ones, because a new role has no evidence yet."""
    paths = [p.relative_to(root).as_posix() for p in (root / "roles").glob("*/meta/argument_specs.yml")]
    if (root / ".git").exists():
        argv = ["git", "ls-files", "--", *paths]
        paths = subprocess.run(argv, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted(Path(p).parents[1].name for p in paths)


def _row(table: Table, root: Path, name: str, known: dict[str, Any], found: dict[str, str]) -> None:
    why, shown = known.get("reasons") or {}, known.get("shown") or {}
    table.missing += [f"{name}: shown: {path} does not exist" for path in shown.values() if not (root / path).exists()]
    table.missing += [f"{name}: shown: `{c}` is not a column, or a scenario already proves it" for c in shown if found.get(c, "yes")]
    found = {c: found[c] or (f"yes (`{shown[c]}`)" if c in shown else "") for c in COLUMNS}
    table.missing += [f"{name}: reasons: `{c}` is not a column" for c in why if c not in COLUMNS]
    table.missing += [f"{name}: reasons: the tree has evidence for `{c}`, remove the reason" for c in why if found.get(c)]
    table.missing += [f"{name}: `{c}` has neither evidence in the tree nor a reason" for c in COLUMNS if not found[c] and not why.get(c)]
    if not known.get("tested_with"):
        table.missing.append(f"{name}: tested_with: list the real components it was tested with, and the simulated ones")
    table.missing += [f"{name}: see: {s} does not exist" for s in known.get("see") or [] if not (root / s).exists()]
    see = ", ".join(f"`{s}`" for s in known.get("see") or [])
    real = str(known.get("tested_with", "")).strip() + (f" ({see})" if see else "")
    table.rows.append(f"| `{name}` | " + " | ".join(found[c] or "no" for c in COLUMNS) + f" | {real} |")
    table.reasons += [f"| `{name}` | {c} | {why[c]} |" for c in COLUMNS if not found[c] and why.get(c)]


def facts(root: Path, name: str, scenarios: list[Scenario], applied: frozenset[str]) -> dict[str, str]:
    """Column -> evidence in the tree; empty if there is none."""
    mine = [s for s in scenarios if name in s.roles]
    module = root / "validators" / "clusterctl_validators" / f"test_{name}.py"
    checks = module.read_text(encoding="utf-8") if module.exists() else ""
    after_reboot = [s for s in mine if s.reboots and {"idempotence", "verify"} & set(s.steps[s.steps.index("side_effect") :])]
    return {
        "apply": "yes" if name in applied else "",
        "check mode": "yes" if any("check" in s.steps[: s.steps.index("converge")] for s in mine) else "",
        "idempotent": "yes" if any("idempotence" in s.steps for s in mine) else "",
        "persists": "yes" if after_reboot else "",
        "validated running": "yes" if _RUNNING.search(checks) else "",
        "validated persisted": "yes" if _PERSISTED.search(checks) else "",
        "molecule": ", ".join(f"`{s.name}`" for s in mine),
    }


def scenario(file: Path) -> Scenario:
    """Read the folder of a scenario."""
    data, folder = _load(file), file.parent
    variables = (data["provisioner"].get("inventory") or {}).get("host_vars") or {}
    templated = frozenset(r for v in variables.values() for r in v.get("node_roles") or [])
    converge = folder / "converge.yml"
    named = roles_of(_load(converge))
    steps = tuple(data["scenario"]["test_sequence"])
    effect = folder / "side_effect.yml"
    reboots = "side_effect" in steps and "ansible.builtin.reboot:" in effect.read_text(encoding="utf-8")
    by_variable = any("node_roles" in n for n in named)
    return Scenario(folder.name, named | templated if by_variable else named, steps, reboots)


def roles_of(plays: Any) -> frozenset[str]:
    """The roles that plays name under `roles:` and in include_role or import_role, at any depth."""
    found: set[str] = set()
    if isinstance(plays, list):
        for item in plays:
            found |= roles_of(item)
    elif isinstance(plays, dict):
        for key, value in plays.items():
            if key == "roles" and isinstance(value, list):
                found |= {str(r["role"] if isinstance(r, dict) else r) for r in value}
            elif key in {"ansible.builtin.include_role", "ansible.builtin.import_role"}:
                found.add(str(value["name"]))
            else:
                found |= roles_of(value)
    return frozenset(found)


def page(table: Table) -> str:
    """The text of the page."""
    return "\n".join(
        [
            "<!-- Written by scripts/role_table.py from the tree and scripts/role_evidence.yml. -->",
            "",
            "# Roles: how each is tested",
            "",
            "| role | " + " | ".join(COLUMNS) + " | tested with |",
            "|---" * (len(COLUMNS) + 2) + "|",
            *table.rows,
            "",
            "* apply: `playbooks/provision.yml` runs it.",
            "* check mode: a molecule scenario runs it with `--check` on a new node.",
            "* idempotent: a second run in the scenario reports no changes.",
            "* persists: after a reboot in the scenario, another run reports no changes, or the validators pass.",
            "* validated running, validated persisted: its validators check the running value, and the value after a reset.",
            "* molecule: the scenarios that run it; `make molecule` runs them all.",
            "",
            "## Reasons for empty columns",
            "",
            "| role | column | reason |",
            "|---|---|---|",
            *table.reasons,
            "",
        ]
    )


def _load(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
