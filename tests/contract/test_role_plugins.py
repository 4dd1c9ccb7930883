"""Roles and playbooks name plugins of the collection by their full names: an installed collection finds no others."""

from __future__ import annotations

import ast
import re

from support.filters import filter_plugin
from support.roles import ROOT

NAME = re.compile(r"\bclusterctl\.gpu\.(\w+)")
FILES = [p for top in ("roles", "playbooks") for p in sorted((ROOT / top).rglob("*")) if p.suffix in {".yml", ".j2"} and p.is_file()]
USED = {(name, str(p.relative_to(ROOT))) for p in FILES for name in NAME.findall(p.read_text())}
FILTERS = {name for p in (ROOT / "plugins" / "filter").glob("*.py") for name in filter_plugin(p.stem).FilterModule().filters()}
MODULES = {p.stem for p in (ROOT / "plugins" / "modules").glob("*.py")}
PLAYBOOKS = {p.stem for p in (ROOT / "playbooks").glob("*.yml")}


def test_every_name_is_provided() -> None:
    assert {(n, p) for n, p in USED if n not in FILTERS | MODULES | PLAYBOOKS} == set()


def test_every_plugin_is_used() -> None:
    assert (FILTERS | MODULES) - {n for n, _ in USED} == set()


def test_no_filter_goes_by_its_short_name() -> None:
    short = re.compile(rf"(\|\s*|map\(')({'|'.join(sorted(FILTERS))})\b")
    assert [(str(p.relative_to(ROOT)), m.group(2)) for p in FILES for m in short.finditer(p.read_text())] == []


def test_module_utilities_are_imported_from_the_collection() -> None:
    files = [p for kind in ("modules", "module_utils", "filter", "action") for p in (ROOT / "plugins" / kind).glob("*.py")]
    own = {p.stem for p in (*files, *(ROOT / "tools" / "clusterctl_tools").glob("*.py"))} | {"clusterctl_tools"}
    imports = [(p.name, n.module or "") for p in files for n in ast.walk(ast.parse(p.read_text())) if isinstance(n, ast.ImportFrom)]
    ours = [(f, m) for f, m in imports if m.rsplit(".", 1)[-1] in own]
    assert ours, "the module has utilities"
    assert [(f, m) for f, m in ours if not m.startswith("ansible_collections.clusterctl.gpu.plugins.module_utils.")] == []
