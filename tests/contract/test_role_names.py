"""The CLI names no role: what it must know of one, its validator declares. Sentences for people may name one."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from support.roles import ROOT, all_roles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLI = ROOT / "cli" / "clusterctl"
ALL = all_roles()
ROLES = {r.name for r in ALL}
VARIABLES = {argument: r.name for r in ALL for argument in r.options}
# (folder or file, role or * for all) -> why
EXCEPTIONS = {
    ("core/gates", "hardware"): "what a gate measures depends on the bill of materials",
    ("core/gates/planning/shared_mounts.py", "storage_client"): "a gate measures the file systems that nodes share",
    ("core/gates", "gpu_tools"): "a gate names the role that installs its tool",
    ("workflows/burnin", "burnin"): "the role that carries the agent of this workflow to the nodes",
}
# Words of other tools, and of the command line, that are also names of roles.
HOMONYMS = {
    ("commands/burnin.py", "burnin"): "the verb",
    ("main.py", "burnin"): "the verb",
    ("workflows/collect_report.py", "burnin"): "the verb",
    ("core/gates/dcgm_diag.py", "pcie"): "a test of DCGM",
    ("core/gates/dcgm_errors.py", "pcie"): "a part that an error of DCGM is about",
    ("core/parsers/host_log.py", "kernel"): "what logged an entry",
    ("adapters/inventory/ansible_worker/places.py", "nvlink_domain"): "a variable of a place",
    ("core/rack_comparison.py", "nvlink_domain"): "a variable of a place",
    ("adapters/store/", "nvlink_domain"): "a variable of a place",
}


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that are not docstrings, with their lines."""
    tree = ast.parse(file.read_text())
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, owners) and n.body and isinstance(n.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def role_in(text: str) -> str:
    """The role that a text names: its name, one of its variables, or the start of a check."""
    if text in VARIABLES:
        return VARIABLES[text]
    name = re.match(r"[a-z_]+", text)
    word = name[0] if name else ""
    return word if word in ROLES and re.fullmatch(r"(?:[.\[][\w.\[\]*]*)?", text[len(word) :]) else ""


def excused(file: str, role: str) -> tuple[str, str] | None:
    return next(((where, r) for where, r in {**EXCEPTIONS, **HOMONYMS} if r == role and file.startswith(where)), None)


@cache
def found() -> list[tuple[str, int, str]]:
    return [
        (file.relative_to(CLI).as_posix(), line, role)
        for file in sorted(CLI.rglob("*.py"))
        for line, text in texts(file)
        if (role := role_in(text))
    ]


def test_no_module_names_a_role() -> None:
    assert [f"{file}:{line}: {role}" for file, line, role in found() if not excused(file, role)] == []


def test_every_exception_is_needed() -> None:
    assert {excused(file, role) for file, _, role in found()} >= {*EXCEPTIONS, *HOMONYMS}


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("hardware", "hardware"),
        ("ofed.mlxconfig[", "ofed"),
        ("nvlink_domain.imex.complete", "nvlink_domain"),
        ("bios_timeout_s", "bios"),
        ("bios_version", ""),
        ("kernel log: ", ""),
        ("set hugepages_pages", ""),
    ],
)
def test_which_texts_name_a_role(text: str, role: str) -> None:
    assert role_in(text) == role
