"""What a pool is to clusterctl, and the rule of ownership: we undo only what we did."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing import Self

    from clusterctl.adapters.pools.settings import PoolSettings
    from clusterctl.adapters.store.store import Store

LEADER = "clusterctl:"
_SIGNED = re.compile(r"(?P<text>.*) \(clusterctl (?P<checksum>[0-9a-f]{8})\)", re.DOTALL)


@runtime_checkable
class Pool(Protocol):
    """Where the scheduler takes nodes from. A backend is a class in the entry point group `clusterctl.pools`, or `module:Class` of a site.

    Attributes:
        settings_model: the keys beside `kind` in `pool:` of clusterctl.yml.
    """

    settings_model: ClassVar[type[PoolSettings]]

    @classmethod
    def create(cls, store: Store, settings: Any, /) -> Self:
        """A pool ready for use; `settings` is a checked `settings_model`.

        Raises:
            PoolError: its scheduler cannot be reached.
        """
        ...

    def admit(self, node: str, reason: str) -> bool:
        """Let jobs run on a node. Returns whether that changed anything.

        Raises:
            PoolError: somebody else took it out; that is not ours to undo.
        """
        ...

    def remove(self, node: str, reason: str) -> bool:
        """Let no new job start on a node. Returns whether that changed anything; a foreign reason stays as it is."""
        ...

    def members(self) -> frozenset[str]:
        """The nodes jobs may run on."""
        ...

    def removed_since(self, moment: str) -> frozenset[str]:
        """The nodes we took out since a moment (`clusterctl.adapters.clock`) and that are still out."""
        ...


def signed(reason: str, leader: str = LEADER, longest: int | None = None) -> str:
    """A reason with a leader in front, cut to `longest` characters.

    After a leader of the site stands our signature: it is known after the leader has changed, and what others write behind the same leader has none.
    """
    if is_ours(reason):
        return reason
    text = f"{leader} {reason}"
    if leader == LEADER:
        return text[:longest]
    room = None if longest is None else longest - len(_signature(text))
    return text[:room] + _signature(text[:room])


def is_ours(reason: str) -> bool:
    """Whether clusterctl wrote this reason, and nobody changed it since."""
    found = _SIGNED.fullmatch(reason)
    return reason.startswith(LEADER) or (found is not None and found["checksum"] == _checksum(found["text"]))


def _signature(text: str) -> str:
    return f" (clusterctl {_checksum(text)})"


def _checksum(text: str) -> str:
    """Of letters and digits only: schedulers change spaces, quotes and what is not ASCII."""
    return hashlib.sha256("".join(c for c in text if c.isascii() and c.isalnum()).encode()).hexdigest()[:8]
