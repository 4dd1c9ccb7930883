"""Roles and playbooks use no collection but their own: another would come with 500 MB of Ansible's community package, or from a server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from support.plain_yaml import load_yaml
from support.roles import ROOT

PLUGIN = re.compile(r"([a-z_]\w*\.[a-z_]\w*)\.[a-z_]\w*")
# filters, tests, and plug-ins named in a string: `| a.b.c`, `is a.b.c`, query('a.b.c')
IN_EXPRESSION = re.compile(rf"(?:\|\s*|\bis (?:not )?|\w\(\s*['\"]){PLUGIN.pattern}")
OWN = {"ansible.builtin", "clusterctl.gpu"}
FILES = [
    p
    for top in ("roles", "playbooks", "molecule", "lab")
    for p in sorted((ROOT / top).rglob("*"))
    if p.suffix in {".yml", ".j2"} and p.is_file()
]


def modules(node: Any) -> Iterator[str]:
    """The keys of all mappings in lists: of tasks, one is the module. A mapping that is a value, such as one of kernel settings, is not a task."""
    children = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
    for child in children:
        if isinstance(node, list) and isinstance(child, Mapping):
            yield from map(str, child)
        yield from modules(child)


@cache
def used() -> frozenset[str]:
    found: set[str] = set()
    for file in FILES:
        text = file.read_text()
        found |= set(IN_EXPRESSION.findall(text))
        if file.suffix == ".yml":
            found |= {m[1] for key in modules(load_yaml(text)) if (m := PLUGIN.fullmatch(key))}
    return frozenset(found)


def test_the_search_finds_modules_and_expressions() -> None:
    assert set(IN_EXPRESSION.findall("{{ x | a.b.c }} {{ y is d.e.f }} {{ query('g.h.i', 1) }} {{ z.stat.exists }}")) == {
        "a.b",
        "d.e",
        "g.h",
    }
    assert used() >= OWN


def test_no_other_collection_is_used_or_demanded() -> None:
    assert used() == OWN
    assert load_yaml((ROOT / "galaxy.yml").read_text())["dependencies"] == {}
