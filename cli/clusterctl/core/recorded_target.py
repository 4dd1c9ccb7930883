"""Finds the recorded nodes that a target selects, without Ansible: names, groups, racks, patterns. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from clusterctl.model.errors import NothingRecordedError, UnknownNodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.records import NodeRecord


def match(nodes: Sequence[NodeRecord], target: str) -> tuple[NodeRecord, ...]:
    """The nodes that a target selects, in the given order.

    A target is a list of words, separated by `,` or `:`. A word is `all`, a node, a group or rack (`-` and `_` are equal) or a shell
    pattern of those; `!word` excludes. Every word without `!` must match a node.

    Raises:
        NothingRecordedError: there are no nodes.
        UnknownNodeError: a word matches no node, or no node is left.
    """
    if not nodes:
        raise NothingRecordedError(target=target)
    words = [w.strip() for w in target.replace(":", ",").split(",") if w.strip()]
    if words == ["all"]:
        return tuple(nodes)
    names_of = {n.name: _names(n) for n in nodes}
    chosen: set[str] = set()
    for word in (w for w in words if not w.startswith("!")):
        found = _named(names_of, word)
        if not found:
            from clusterctl.core.near_match import did_you_mean  # noqa: PLC0415 difflib is for a mistyped word only

            known = sorted({n.name for n in nodes} | {g for n in nodes for g in n.groups})
            raise UnknownNodeError(target=word, near=did_you_mean(word, known))
        chosen |= found
    for word in (w for w in words if w.startswith("!")):
        chosen -= _named(names_of, word[1:])
    if not chosen:
        raise UnknownNodeError(target=target, near="")
    return tuple(n for n in nodes if n.name in chosen)


def _names(node: NodeRecord) -> frozenset[str]:
    return frozenset(map(_form, (node.name, node.rack, *node.groups)))


def _named(names_of: dict[str, frozenset[str]], word: str) -> set[str]:
    if word == "all":
        return set(names_of)
    form = _form(word)
    if any(sign in form for sign in "*?["):
        return {name for name, own in names_of.items() if any(fnmatchcase(o, form) for o in own)}
    return {name for name, own in names_of.items() if form in own}


def _form(name: str) -> str:
    return name.lower().replace("-", "_")
