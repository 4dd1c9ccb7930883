"""Every path that code of ours opens for writing as root on a node stands in `paths_opened_by_root.yml`, with what keeps other users from it.

Where others may write, a link leads root to a file of theirs; a lock file that they may open is a lock that they may hold.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLACES = ("validators/clusterctl_validators", "on_node", "tools", "plugins/modules", "plugins/module_utils", "roles")
LISTED = load_yaml((ROOT / "tests" / "contract" / "paths_opened_by_root.yml").read_text())
OPENED: dict[str, dict[str, str]] = LISTED["opened"]
GUARDS: dict[str, str] = LISTED["guards"]
CHANGING = {"write_text", "write_bytes", "touch", "mkdir", "makedirs", "symlink_to", "mkstemp", "mkdtemp"}
WRITES = re.compile(r"[wax+]")
EVERYBODY_WRITES = re.compile(r"^/(?:tmp|var/tmp|dev/shm|run/lock|var/lock)(?:/|$)")
REDIRECTION = re.compile(r"(?<![0-9&<=-])>{1,2}\s*([\"']?[$/A-Za-z_][^\s;|&)]*)")


def sources() -> list[Path]:
    files = [p for place in PLACES for p in sorted((ROOT / place).rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    in_roles = [p for p in files if "roles" not in p.relative_to(ROOT).parts[:1] or p.parent.name in ("files", "templates")]
    return [p for p in in_roles if p.suffix == ".py" or p.read_bytes().startswith(b"#!")]


def flags_of(call: ast.Call) -> str:
    return ast.unparse(call.args[1]) if len(call.args) > 1 else ""


def is_os(call: ast.Call, *names: str) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "os" and call.func.attr in names


def mode_of(call: ast.Call, place: int) -> str:
    words = [*call.args[place : place + 1], *(k.value for k in call.keywords if k.arg == "mode")]
    return next((w.value for w in words if isinstance(w, ast.Constant) and isinstance(w.value, str)), "r")


def changed_by(call: ast.Call) -> str:
    """The expression of the path that a call opens for writing or makes; empty if it does neither."""
    if is_os(call, "open"):
        return ast.unparse(call.args[0]) if re.search(r"O_(?:CREAT|RDWR|WRONLY)", flags_of(call)) else ""
    if is_os(call, "mkdir", "makedirs", "symlink"):
        return ast.unparse(call.args[-1 if is_os(call, "symlink") else 0])
    if isinstance(call.func, ast.Name) and call.func.id == "open":
        return ast.unparse(call.args[0]) if WRITES.search(mode_of(call, 1)) else ""
    if isinstance(call.func, ast.Attribute) and (
        call.func.attr in CHANGING or (call.func.attr == "open" and WRITES.search(mode_of(call, 0)))
    ):
        return ast.unparse(call.func.value)
    return ""


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and (what := changed_by(node)):
            yield what, node


def opened() -> dict[str, set[str]]:
    """File -> expressions of paths."""
    found: dict[str, set[str]] = {}
    for path in sources():
        if path.suffix == ".py":
            names = {what for what, _ in calls(path)}
        else:
            lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
            names = {m.strip("\"'") for line in lines for m in REDIRECTION.findall(line)} - {"/dev/null"}
        if names:
            found[path.relative_to(ROOT).as_posix()] = names
    return found


def test_every_path_that_root_opens_is_listed() -> None:
    assert {name: sorted(paths) for name, paths in opened().items()} == {name: sorted(paths) for name, paths in OPENED.items()}


def test_every_guard_is_known() -> None:
    assert {guard for paths in OPENED.values() for guard in paths.values()} == set(GUARDS)


@pytest.mark.parametrize(("name", "what"), [(n, w) for n, paths in OPENED.items() for w, g in paths.items() if g in ("lock", "checked")])
def test_a_lock_and_a_file_where_others_may_write_are_opened_as_that(name: str, what: str) -> None:
    """Not through a link, and for root alone: who may read a lock file may hold its lock (flock(2))."""
    found = [call for path, call in calls(ROOT / name) if path == what and not is_os(call, "mkdir")]
    assert found
    for call in found:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "mkdir":
            assert [ast.unparse(k.value) for k in call.keywords if k.arg == "mode"] == ["448"]  # 0o700
        else:
            assert is_os(call, "open"), ast.unparse(call)
            assert "O_NOFOLLOW" in flags_of(call) or "O_EXCL" in flags_of(call)
            assert ast.unparse(call.args[2]) == "384"  # 0o600


def test_whoever_locks_a_file_of_root_opens_it_as_a_lock() -> None:
    """A program that calls flock(2) has a path listed as lock, or locks one in a folder that root alone may enter."""
    lock = re.compile(r"\bfcntl\.(?:flock|lockf)\(")
    lockers = [p.relative_to(ROOT).as_posix() for p in sources() if p.suffix == ".py" and lock.search(p.read_text())]
    assert [n for n in lockers if not {"lock", "run"} & set(OPENED.get(n, {}).values()) and n not in LISTED["lock_elsewhere"]] == []


def test_folders_in_which_everybody_writes_are_named_where_that_is_listed() -> None:
    found: dict[str, set[str]] = {}
    for path in (p for p in sources() if p.suffix == ".py"):
        words = (n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        named = {w for w in words if EVERYBODY_WRITES.match(w)}
        if named:
            found[path.relative_to(ROOT).as_posix()] = named
    assert {n: sorted(w) for n, w in found.items()} == {n: sorted(w) for n, w in LISTED["everybody_writes"].items()}
