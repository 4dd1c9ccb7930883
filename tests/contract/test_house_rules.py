from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TRACKED = [
    ROOT / line for line in subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
]
PYTHON = [p for p in TRACKED if p.suffix == ".py" and p.is_file()]
CLI = [p for p in PYTHON if "cli/clusterctl" in p.as_posix()]
TEXT = [
    p
    for p in TRACKED
    if p.is_file() and p.suffix in {".py", ".yml", ".yaml", ".sh", ".md", ".toml", ".cfg", ".txt", ".j2", ".html", ".json"}
]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_python_file_is_over_400_lines() -> None:
    assert [relative(p) for p in PYTHON if lines(p) > 400] == []


def test_commands_stay_within_80_lines() -> None:
    assert [relative(p) for p in CLI if p.parent.name == "commands" and lines(p) > 80 and p.name not in {"complete.py", "options.py"}] == []


def test_task_files_stay_under_80_lines() -> None:
    assert [relative(p) for p in (ROOT / "roles").glob("*/tasks/*.yml") if lines(p) >= 80] == []


@cache
def imports(path: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return frozenset(found)


@pytest.mark.parametrize(
    ("module", "only"),
    [
        ("ansible_runner", "cli/clusterctl/adapters/ansible/runner.py"),
        ("ansible", "cli/clusterctl/adapters/inventory/ansible_worker"),
        ("asyncssh", "cli/clusterctl/adapters/ssh"),
    ],
)
def test_an_external_package_is_imported_in_one_place(module: str, only: str) -> None:
    assert [relative(p) for p in CLI if module in imports(p) and not relative(p).startswith(only)] == []


def test_only_the_terminal_package_prints() -> None:
    def prints(path: Path) -> bool:
        tree = ast.parse(path.read_text())
        calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
        return any(isinstance(f, ast.Name) and f.id == "print" for f in calls) or "sys.stdout.write" in path.read_text()

    worker_processes = {"cli/clusterctl/adapters/inventory/ansible_worker"}
    offenders = {relative(p) for p in CLI if prints(p) and "/terminal/" not in p.as_posix()}
    assert offenders - worker_processes == set()


def test_only_main_exits() -> None:
    offenders = [relative(p) for p in CLI if re.search(r"\bsys\.exit\(|\bos\._exit\(", p.read_text())]
    assert offenders in ([], ["cli/clusterctl/main.py"], ["cli/clusterctl/main.py", "cli/clusterctl/adapters/inventory/ansible_worker"])


def test_validators_import_neither_click_nor_the_cli() -> None:
    for path in (p for p in PYTHON if "clusterctl_validators" in p.as_posix() and "tests/" not in relative(p)):
        assert not imports(path) & {"click", "rich_click", "clusterctl", "ansible_runner"}, relative(path)


def test_roles_and_validators_do_not_mention_lab_or_molecule() -> None:
    files = [p for p in TRACKED if relative(p).startswith(("roles/", "validators/")) and p.is_file()]
    assert [relative(p) for p in files if re.search(r"clusterctl[-_]lab|molecule", p.read_text(errors="ignore"))] == []


def test_no_file_has_a_machine_path_or_a_registry_host() -> None:
    machine = re.compile(r"(?<![\w./-])/(work|root|home/[a-z]+)/(?!\.ssh)")
    registry = re.compile(r"index-url|find-links|trusted-host|pypi\.org|files\.pythonhosted|deb\.debian\.org|registry\.npmjs")
    own = {"tests/contract/test_house_rules.py", "scripts/lock.sh"}
    offenders = [
        relative(p)
        for p in TEXT
        if relative(p) not in own and p.suffix != ".md" and (machine.search(p.read_text()) or registry.search(p.read_text()))
    ]
    assert offenders == []


def test_no_file_has_a_marker_of_unfinished_work() -> None:
    pattern = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    files = [p for p in TEXT if p.suffix in {".py", ".yml", ".sh"} and relative(p) != "tests/contract/test_house_rules.py"]
    assert [relative(p) for p in files if pattern.search(p.read_text())] == []
