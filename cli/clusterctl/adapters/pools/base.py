"""What a pool is to clusterctl, and the rule of ownership: we undo only what we did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing import Self

    from clusterctl.adapters.pools.settings import PoolSettings
    from clusterctl.adapters.store.store import Store

LEADER = "clusterctl:"


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


def signed(reason: str) -> str:
    """A reason with our leader in front."""
    return reason if is_ours(reason) else f"{LEADER} {reason}"


def is_ours(reason: str) -> bool:
    """Whether clusterctl wrote this reason."""
    return reason.startswith(LEADER)
