"""Drift without --heal cannot apply a role, because no module that it imports can."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CLI = ROOT / "cli"
VALIDATORS = ROOT / "validators" / "clusterctl_validators"
ROLES = sorted(p.stem.removeprefix("test_") for p in VALIDATORS.glob("test_*.py"))
FORBIDDEN = {"ansible_runner", "ansible", "asyncssh", "subprocess"}


def file_of(module: str) -> Path | None:
    path = CLI / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


@cache
def imports(module: str) -> frozenset[str]:
    """The modules that a module imports at run time, including imports in functions, without imports for types."""
    file = file_of(module)
    assert file is not None
    tree = ast.parse(file.read_text())
    for_types = {
        id(n) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) for n in ast.walk(node)
    }
    found: set[str] = set()
    for node in (n for n in ast.walk(tree) if id(n) not in for_types):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{a.name}" for a in node.names if file_of(f"{node.module}.{a.name}")}
    return frozenset(found)


def reach(start: str, without: frozenset[str] = frozenset()) -> set[str]:
    """All modules that are imported directly or indirectly, with their packages."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        module = todo.pop()
        if module in seen or module in without:
            continue
        seen.add(module)
        if module.startswith("clusterctl.") and file_of(module):
            todo += [*imports(module), module.rpartition(".")[0]]
    return seen


CORE = sorted(f"clusterctl.core.drift.{p.stem}" for p in (CLI / "clusterctl" / "core" / "drift").glob("*.py"))


@pytest.mark.parametrize("module", CORE)
def test_the_core_of_drift_imports_no_adapter(module: str) -> None:
    found = reach("clusterctl.core.drift" if module.endswith("__init__") else module)
    assert found & FORBIDDEN == set()
    edges = (
        "clusterctl.adapters.ansible.runner",
        "clusterctl.workflows.provision",
        "clusterctl.adapters.ssh",
        "clusterctl.adapters.validators",
        "clusterctl.adapters.store",
    )
    assert [m for m in found if m.startswith(edges)] == []


def test_only_prometheus_metrics_import_its_client() -> None:
    files = [
        p
        for p in (CLI / "clusterctl").rglob("*.py")
        if "import prometheus_client" in p.read_text() or "from prometheus_client" in p.read_text()
    ]
    assert [p.relative_to(CLI).as_posix() for p in files] == ["clusterctl/core/metrics_text.py"]


def test_a_drift_run_uses_ansible_only_to_run_the_bundle() -> None:
    """Nodes without SSH are validated through one playbook, which has no roles."""
    carrier = "clusterctl.adapters.validators.over_ansible"
    assert carrier in reach("clusterctl.workflows.drift.check_drift")
    found = reach("clusterctl.workflows.drift.check_drift", without=frozenset({carrier}))
    assert [
        m
        for m in found
        if m.startswith(("clusterctl.adapters.ansible.runner", "clusterctl.workflows.provision", "clusterctl.workflows.remediate"))
    ] == []
    text = file_of(carrier)
    assert text is not None
    assert {w.value for w in ast.walk(ast.parse(text.read_text())) if isinstance(w, ast.Constant) and str(w.value).endswith(".yml")} == {
        "validate.yml"
    }
    plays = load_yaml((ROOT / "playbooks" / "validate.yml").read_text())
    assert not any(key in play for play in plays for key in ("roles", "pre_tasks", "post_tasks", "handlers"))
    assert not [t for play in plays for t in play["tasks"] if any("role" in k or "import" in k or "include" in k for k in t)]


def test_checks_run_only_in_the_read_only_view() -> None:
    """The bundle enters the view before pytest runs the first check."""
    tree = ast.parse((VALIDATORS / "run_on_node.py").read_text())
    (run,) = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "run")
    calls = [ast.unparse(n.func) for step in run.body for n in ast.walk(step) if isinstance(n, ast.Call)]
    assert calls.index("_enter_view") < calls.index("pytest.main")
    others = [p for p in VALIDATORS.glob("*.py") if "pytest.main(" in p.read_text() and p.name != "run_on_node.py"]
    assert others == []


def test_writable_paths_of_checks_are_documented() -> None:
    documented = (ROOT / "docs" / "reference" / "validators.md").read_text()
    named = {path for role in ROLES for path in getattr(import_module(f"clusterctl_validators.test_{role}"), "WRITABLE", ())}
    assert named
    assert [path for path in sorted(named) if f"`{path}`" not in documented] == []


def test_the_drift_command_heals_only_on_request() -> None:
    tree = ast.parse((CLI / "clusterctl" / "commands" / "drift.py").read_text())
    conditions = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "heal_with_progress" in ast.unparse(n)]
    assert [ast.unparse(n.test) for n in conditions] == ["options.heal"]
    found = reach(
        "clusterctl.commands.drift", without=frozenset({"clusterctl.commands.heal", "clusterctl.adapters.validators.over_ansible"})
    )
    assert [m for m in found if m.startswith(("clusterctl.adapters.ansible.runner", "clusterctl.workflows.provision"))] == []
