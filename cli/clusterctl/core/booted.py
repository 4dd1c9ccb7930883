"""Which nodes booted since they were last verified. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core import timestamps
from clusterctl.model.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.boots import ReportedBoot, VerifiedBoot

# Two readings of one boot differ by rounding to seconds, by the time an answer takes, and by what clocks were corrected in between.
# Assumed: by less than a minute; and no node boots twice within a minute and is verified in between.
SAME_BOOT_S = 60.0


def booted_since(reported: ReportedBoot, last: VerifiedBoot | None) -> bool:
    """Whether a node runs in another boot than the one in which it was last verified; so it is where it never was, or neither is known."""
    if last is None:
        return True
    if reported.boot_id and last.boot_id:
        return reported.boot_id != last.boot_id
    if not reported.booted_at:
        return True
    if last.booted_at:
        return reported.booted_at > timestamps.after(last.booted_at, SAME_BOOT_S)
    return reported.booted_at > last.at


def nodes_to_verify(
    reported: Mapping[str, ReportedBoot],
    last: Mapping[str, VerifiedBoot],
    states: Mapping[str, State],
    *,
    resume: bool,
) -> frozenset[str]:
    """The nodes that booted since they were last verified, where jobs may start or the scheduler took an admitted node out for its boot.

    With `resume`, also those that it took out and that were verified since: only a run that verifies a node returns it.
    """
    return frozenset(
        name
        for name, boot in reported.items()
        if (boot.is_member and booted_since(boot, last.get(name)))
        or (boot.taken_out and states.get(name) is State.ADMITTED and (resume or booted_since(boot, last.get(name))))
    )


def may_return(
    reported: Mapping[str, ReportedBoot], last: Mapping[str, VerifiedBoot], states: Mapping[str, State], names: Iterable[str]
) -> tuple[str, ...]:
    """Those of `names`, found as declared, that their scheduler took out for the boot in which they were verified, and that are admitted."""
    return tuple(
        n
        for n in names
        if n in reported and reported[n].taken_out and states[n] is State.ADMITTED and not booted_since(reported[n], last.get(n))
    )
