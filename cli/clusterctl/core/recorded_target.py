"""Finds the recorded nodes that a target selects, without Ansible: names, groups, racks, patterns. Pure."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.core.name_ranges import expand, split_words
from clusterctl.model.errors import NothingRecordedError, UnknownNodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.records import NodeRecord

_POSITIONS = re.compile(r"\[-?\d*:-?\d*\]$")


def match(nodes: Sequence[NodeRecord], target: str) -> tuple[NodeRecord, ...]:
    """The nodes that a target selects, in the given order.

    A target is a list of words, separated by `,` or `:`, as Ansible has it. A word is `all`, a node, a range of nodes, a group or rack
    (`-` and `_` are equal), a shell pattern of those, or `~` and a regular expression. `!word` excludes, `&word` keeps only what is in both.
    Every word must match a node: a misspelt exclusion would take the very node that was to be left out.

    Raises:
        NothingRecordedError: there are no nodes.
        UnknownNodeError: a word matches no node, or no node is left.
        NameRangeError: a range cannot be meant.
    """
    if not nodes:
        raise NothingRecordedError(target=target)
    words = split_words(target, colons=True)
    if words == ("all",):
        return tuple(nodes)
    find = partial(_found, nodes, {n.name: _names(n) for n in nodes})
    plain = [w for w in words if w[0] not in "!&"]
    chosen = set().union(*map(find, plain)) if plain or not words else {n.name for n in nodes}
    for word in (w for w in words if w[0] == "&"):
        chosen &= find(word)
    for word in (w for w in words if w[0] == "!"):
        chosen -= find(word)
    if not chosen:
        raise UnknownNodeError(target=target, near="")
    return tuple(n for n in nodes if n.name in chosen)


def _found(nodes: Sequence[NodeRecord], names_of: dict[str, frozenset[str]], signed: str) -> set[str]:
    """What a word names, without its sign; each name of a range must be there."""
    found: set[str] = set()
    for word in expand(signed.lstrip("!&").strip()):
        some = _named(nodes, names_of, word)
        if not some:
            raise UnknownNodeError(target=word or signed, near=_near(nodes, signed, word))
        found |= some
    return found


def _near(nodes: Sequence[NodeRecord], signed: str, word: str) -> str:
    if not word:
        return f": nothing follows {signed!r}"
    if _POSITIONS.search(word):
        return ": positions in a group are known to the inventory only; name the nodes, as in r12-n[01-08]"
    from clusterctl.core.near_match import did_you_mean  # noqa: PLC0415 difflib is for a mistyped word only

    return did_you_mean(word, sorted({n.name for n in nodes} | {g for n in nodes for g in n.groups}))


def _names(node: NodeRecord) -> frozenset[str]:
    return frozenset(map(_form, (node.name, node.rack, *node.groups)))


def _named(nodes: Sequence[NodeRecord], names_of: dict[str, frozenset[str]], word: str) -> set[str]:
    if word == "all":
        return set(names_of)
    if word.startswith("~"):
        try:
            expression = re.compile(word[1:])
        except re.error as e:
            raise UnknownNodeError(target=word, near=f": not a regular expression: {e}") from e
        return {n.name for n in nodes if any(map(expression.match, (n.name, n.rack, *n.groups)))}
    form = _form(word)
    if any(sign in form for sign in "*?["):
        return {name for name, own in names_of.items() if any(fnmatchcase(o, form) for o in own)}
    return {name for name, own in names_of.items() if form in own}


def _form(name: str) -> str:
    return name.lower().replace("-", "_")
