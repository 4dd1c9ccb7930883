"""Which variables a template may read: what decides whether two nodes share a spec."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from jinja2 import Environment, TemplateSyntaxError, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENVIRONMENT = Environment(autoescape=False, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])  # noqa: S701 parses only, renders nothing
_DYNAMIC_NAMES = frozenset({"hostvars", "vars"})
_LOOKUPS = frozenset({"lookup", "query", "q"})
_CONTROLLER_NAMES = frozenset({"inventory_dir", "inventory_file", "playbook_dir", "hostvars", "groups", "ansible_playbook_python"})
_VARIABLE_LOOKUPS = frozenset({"vars", "varnames", "items", "dict", "subelements", "sequence", "indexed_items", "flattened"})
_FIXED_LOOKUPS = frozenset({"env", "file", "pipe", "password", "config", "first_found", "fileglob", "ini", "csvfile", "sequence"})


@dataclass(frozen=True, slots=True)
class References:
    """What a template reads.

    Attributes:
        names: a superset of the variables it reads by name.
        dynamic: it may read others too (`hostvars[...]`, `lookup('vars', ...)`): its result may differ per host.
    """

    names: frozenset[str]
    dynamic: bool


@lru_cache(maxsize=4096)
def references(template: str) -> References:
    """What `template` reads. A template that cannot be parsed counts as dynamic: Ansible will report what is wrong with it."""
    try:
        tree = _ENVIRONMENT.parse(template)
    except TemplateSyntaxError:
        return References(frozenset(), dynamic=True)
    names = frozenset(n.name for n in tree.find_all(nodes.Name) if n.ctx == "load")
    dynamic = bool(names & _DYNAMIC_NAMES) or any(_reads_by_computed_name(c) for c in tree.find_all(nodes.Call))
    return References(names, dynamic)


@lru_cache(maxsize=4096)
def reads_controller(template: str) -> bool:
    """Whether a template reads what only the controller has: its files, environment and programs, other hosts. One that cannot be parsed does not."""
    try:
        tree = _ENVIRONMENT.parse(template)
    except TemplateSyntaxError:
        return False
    if any(n.name in _CONTROLLER_NAMES for n in tree.find_all(nodes.Name) if n.ctx == "load"):
        return True
    return any(_looks_up(call) not in {"", *_VARIABLE_LOOKUPS} for call in tree.find_all(nodes.Call))


def is_template(text: str) -> bool:
    """Whether Ansible would render `text` (if it is trusted)."""
    return "{{" in text or "{%" in text or "{#" in text


def templates_in(value: object) -> Iterator[str]:
    """Every template inside a value, dict keys included."""
    if isinstance(value, str):
        if is_template(value):
            yield str(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from templates_in(key)
            yield from templates_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from templates_in(item)


def _reads_by_computed_name(call: nodes.Call) -> bool:
    return _looks_up(call) not in {"", *_FIXED_LOOKUPS}


def _looks_up(call: nodes.Call) -> str:
    """The lookup plug-in that a call names, `?` where it computes the name; empty if it is not a lookup."""
    if not isinstance(call.node, nodes.Name) or call.node.name not in _LOOKUPS:
        return ""
    plugin = call.args[0] if call.args else None
    return str(plugin.value).removeprefix("ansible.builtin.") if isinstance(plugin, nodes.Const) else "?"
