"""From a pattern to hosts. Stricter than Ansible: each part of a pattern must exist, and the result may not be empty."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.inventory.manager import split_host_pattern

from clusterctl.adapters.inventory.ansible_worker.failures import WorkerError, config_failure
from clusterctl.adapters.inventory.wire import Failure
from clusterctl.core.name_ranges import expand, split_words
from clusterctl.core.near_match import did_you_mean
from clusterctl.model.errors import NameRangeError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SUBSCRIPT = re.compile(r"\[[-\d:]+\]$")


def select(inventory: Any, target: str, limit: str | None) -> list[Any]:
    """The hosts of `target`, in inventory order, cut down to those of `limit`.

    Raises:
        WorkerError: a part of a pattern names nothing, or no host is left.
    """
    hosts = _hosts(inventory, _split(target), target)
    if limit is None:
        return hosts
    allowed = set(_hosts(inventory, list(_expand(limit)), limit))
    left = [h for h in hosts if h in allowed]
    if not left:
        raise _unknown(f"{target} --limit {limit}", f": {len(hosts)} and {len(allowed)} nodes, none in both")
    return left


def example_host(inventory: Any, group: str) -> Any:
    """A host that is in `group` and declares nothing of its own: what a profile alone declares.

    Raises:
        WorkerError: there is no such group.
    """
    if group not in inventory.groups:
        raise _unknown(group, did_you_mean(group, inventory.groups))
    name = f"example-node-of-{group}"
    inventory.add_host(name, group)
    return inventory.get_host(name)


def _hosts(inventory: Any, parts: list[str], whole: str) -> list[Any]:
    # Ansible's split leaves out an unclosed bracket and what follows: `~[` would be `~`, which is every node
    if not whole.startswith("@") and (whole.count("[") != whole.count("]") or any(p.lstrip("&!") == "~" for p in parts)):
        raise _unknown(whole, ": not a regular expression")
    known = [part for p in parts if p for part in _known_parts(inventory, p, whole)]
    if not known:
        raise _unknown(whole, ": the pattern is empty")
    hosts = [h for h in inventory.get_hosts(known) if not h.implicit]
    if not hosts:
        counts = ", ".join(f"{p} has {len(inventory.get_hosts(p.lstrip('&!')))}" for p in known)
        raise _unknown(whole, f" ({counts})")
    return hosts


def _split(pattern: str) -> list[str]:
    """As Ansible does, but a comma in brackets is part of a range: `r12-n[01-04,07]`."""
    words = split_words(pattern)
    if len(words) != 1:
        return list(words)
    return list(split_words(pattern, colons=True)) if "," in words[0] else list(split_host_pattern(words[0]))


def _known_parts(inventory: Any, part: str, whole: str) -> list[str]:
    """The parts that a part stands for: a range is its names. All of them are one part to intersect with."""
    try:
        known = [_known_part(inventory, name, whole) for name in expand(part)]
    except NameRangeError as e:
        raise config_failure(f"target {whole!r}: {e}", e.hint) from e
    if len(known) == 1 or not part.startswith("&"):
        return known
    names = sorted({str(h.name) for one in known for h in inventory.get_hosts(one[1:])})
    return [f"&~({'|'.join(map(re.escape, names))})$"]


def _known_part(inventory: Any, part: str, whole: str) -> str:
    """The part as it is, or with `-` as `_`: people write rack-12, Ansible groups cannot."""
    sign, name = (part[0], part[1:]) if part[0] in "&!" else ("", part)
    if not name:
        raise _unknown(whole, f": nothing follows {sign!r}")
    if name.startswith("~"):
        try:
            re.compile(name[1:])
        except re.error as e:
            raise _unknown(whole, f": not a regular expression: {e}") from e
    for spelling in dict.fromkeys((name, name.replace("-", "_"))):
        try:
            found = [h for h in inventory.get_hosts(spelling) if not h.implicit]
        except AnsibleError as e:
            if _SUBSCRIPT.search(spelling):
                raise _unknown(whole, f": {spelling} is out of range") from e
            raise config_failure(
                f"target {whole!r}: {e.message}", "a target is an Ansible host pattern: rack-12, 'rack_12:!r12-n03', '~r12-n0[12]'"
            ) from e
        if found or _SUBSCRIPT.sub("", spelling) in inventory.groups:
            return sign + spelling
    names = [*(g for g in inventory.groups if g not in ("all", "ungrouped")), *inventory.hosts]
    prefix = "" if name == whole else f": {name!r} is unknown"
    raise _unknown(whole, prefix + did_you_mean(name, names))


def _expand(limit: str) -> Iterable[str]:
    for part in _split(limit):
        if not part.startswith("@"):
            yield part
            continue
        try:
            text = Path(part[1:]).read_text(encoding="utf-8")
        except OSError as e:
            raise config_failure(f"limit file {part[1:]}: {e.strerror}", "give a file with one pattern per line") from e
        yield from (line.strip() for line in text.splitlines() if line.strip())


def _unknown(target: str, near: str) -> WorkerError:
    return WorkerError(Failure.UNKNOWN_TARGET, target=target, near=near)
