"""Files that Ansible reads at each start, in a form that is read fast without libyaml, which the pure Python of an archive lacks. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# compiled where PyYAML has it: a whole archive is made in each run that changes nodes
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REDIRECT = re.compile(rb"^    [^\s#][^\n]*:\n      redirect: ([a-z0-9_]+\.[a-z0-9_]+)(?:\.[^\n]+)?\n(?!      )", re.MULTILINE)
_EMPTY_KIND = re.compile(rb"^(  \w+:)\n(?=(?: *#[^\n]*\n|\n)*(?: {0,2}[^\s#-]|\Z))", re.MULTILINE)


def own_routes(text: bytes, collections: Collection[str]) -> bytes:
    """`ansible_builtin_runtime.yml` of ansible-core without the names that moved to a collection which is not among `collections`: 4,000 of 4,800."""
    kept = {"ansible.builtin", *collections}
    return _EMPTY_KIND.sub(rb"\1 {}\n", _REDIRECT.sub(lambda m: m[0] if m[1].decode() in kept else b"", text))


def as_json(text: bytes) -> bytes:
    """A YAML file, which Ansible first tries as JSON. One with more than JSON can hold (tags, several documents, dates, keys that are numbers) is unchanged."""
    try:
        content = yaml.load(text, Loader=_LOADER)  # noqa: S506 a safe one
        found = json.dumps(content, ensure_ascii=False)
    except (yaml.YAMLError, TypeError, ValueError):
        return text
    return found.encode() if json.loads(found) == content else text


def all_filters(package: str, modules: Iterable[str]) -> bytes:
    """A file of filters with those of all `modules` of `package`.

    For each filter of a collection that a task names, Ansible goes through every file of filters of that collection, in the process of that task.
    """
    names = sorted(modules)
    lines = [f"import {package}.{name}" for name in names]
    parts = ", ".join(f"{package}.{name}" for name in names)
    body = f"return {{name: made for part in ({parts},) for name, made in part.FilterModule().filters().items()}}"
    return "\n".join([*lines, "", "", "class FilterModule:", "    def filters(self):", f"        {body}", ""]).encode()
