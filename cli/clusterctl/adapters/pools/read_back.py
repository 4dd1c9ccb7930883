"""Changes of a pool, each read back: a scheduler's answer can be lost after it acted, and an answer is not the act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clusterctl.model.errors import PoolError, PoolStateUnknownError, PoolUnreachableError

if TYPE_CHECKING:
    from clusterctl.adapters.pools.base import Pool


@runtime_checkable
class Readable(Protocol):
    """What a pool offers in addition if one node is read faster than all members."""

    def takes_jobs(self, node: str, /) -> bool:
        """Whether jobs may run on a node, as `Pool.members` has it; False for one that the scheduler does not list.

        Raises:
            PoolError: the scheduler does not report it.
        """
        ...


def is_member(pool: Pool, node: str) -> bool:
    """Whether jobs may run on a node.

    Raises:
        PoolError: the scheduler does not report it.
    """
    return pool.takes_jobs(node) if isinstance(pool, Readable) else node in pool.members()


def put_in(pool: Pool, node: str, reason: str) -> bool:
    """`Pool.admit`, read back. Returns whether that changed anything.

    An answer that was lost counts as what the scheduler shows then. After a refusal, or where it shows nothing, the node is taken out again.

    Raises:
        PoolError: the node is out: refused, or it does not appear in the pool.
        PoolStateUnknownError: it is unknown whether it is in.
    """
    error: PoolError | None = None
    changed = True
    try:
        changed = pool.admit(node, reason)
    except PoolError as e:
        error = e
    inside = _shown(pool, node)
    if inside and (error is None or isinstance(error, PoolUnreachableError)):
        return changed
    if inside is None or inside:
        _take_out_again(pool, node, error)
    raise error or PoolError(
        detail=f"{node} was admitted, and the pool does not show it as a member", hint="see what the scheduler has of it, then run it again"
    )


def take_out(pool: Pool, node: str, reason: str) -> bool:
    """`Pool.remove`, read back. Returns whether that changed anything.

    Raises:
        PoolError: the node may still be in: refused, or the scheduler does not answer.
        PoolStateUnknownError: the scheduler took the change, and does not show whether it is made.
    """
    error: PoolError | None = None
    changed = True
    try:
        changed = pool.remove(node, reason)
    except PoolError as e:
        error = e
    inside = _shown(pool, node)
    if inside is False:
        return changed
    if error is not None:
        raise error
    raise _unknown(node, "the scheduler still shows it" if inside else "the scheduler does not answer")


def _take_out_again(pool: Pool, node: str, error: PoolError | None) -> None:
    """Take a node out that may be in although it was not admitted."""
    why = str(error) if error else "the scheduler does not answer"
    try:
        take_out(pool, node, f"not admitted: {why}")
    except PoolError as e:
        raise _unknown(node, why) from e


def _shown(pool: Pool, node: str) -> bool | None:
    """Whether the scheduler shows a node as a member; None where it does not answer."""
    try:
        return is_member(pool, node)
    except PoolError:
        return None


def _unknown(node: str, why: str) -> PoolStateUnknownError:
    hint = "the next `provision`, `admit` or `drain` takes it out first; until then see what the scheduler has of it"
    return PoolStateUnknownError(detail=f"state of {node} unknown in the pool: {why}", hint=hint)
