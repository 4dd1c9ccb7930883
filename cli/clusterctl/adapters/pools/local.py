"""The pool of a site without a scheduler: a table of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterctl.adapters.pools.base import is_ours, signed
from clusterctl.adapters.pools.settings import PoolSettings
from clusterctl.model.errors import PoolError

if TYPE_CHECKING:
    from typing import Self

    from clusterctl.adapters.store.store import Store
    from clusterctl.model.records import PoolMember


class LocalPool:
    """Members are rows of `pool_members`. It has no settings."""

    settings_model: ClassVar[type[PoolSettings]] = PoolSettings

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def create(cls, store: Store, _settings: PoolSettings | None = None, /) -> Self:
        """A pool on the store."""
        return cls(store)

    def admit(self, node: str, reason: str) -> bool:
        """See `Pool.admit`."""
        return self._store.change_member(node, member=True, reason=signed(reason), may=_refuse_foreign)

    def remove(self, node: str, reason: str) -> bool:
        """See `Pool.remove`. A node that never was in is out: noting it would look as if it had been taken out."""
        return self._store.change_member(node, member=False, reason=signed(reason), may=lambda _present: None, only_known=True)

    def members(self) -> frozenset[str]:
        """See `Pool.members`."""
        return frozenset(m.node for m in self._store.pool_members() if m.member)

    def removed_since(self, moment: str) -> frozenset[str]:
        """See `Pool.removed_since`."""
        return frozenset(m.node for m in self._store.pool_members() if not m.member and is_ours(m.reason) and m.changed_at > moment)


def _refuse_foreign(present: PoolMember | None) -> None:
    if present is not None and not present.member and not is_ours(present.reason):
        raise PoolError(
            detail=f"{present.node} was taken out of the pool by somebody else: {present.reason}",
            hint="clusterctl undoes only what it did; whoever took it out puts it back",
        )
