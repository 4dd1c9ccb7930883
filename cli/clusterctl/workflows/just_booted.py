"""Wait for nodes that have just booted: SSH answers minutes before links and fabric are up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from clusterctl.core.after_boot import SETTLED_S, coming_up
from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.validator_traits import ValidatorTraits

_LOOK_AGAIN_S = 5.0


def wait_until_up(
    findings: Mapping[str, NodeFindings],
    traits: ValidatorTraits,
    look_again: Callable[[Collection[str]], None],
    report: Callable[[str], None],
) -> None:
    """Return once every node of `findings` that has just booted is up, or should have been.

    `look_again` replaces the findings of the nodes that it is given; `report` gets one line for each node that is waited for.
    """
    reported: set[str] = set()
    end = time.monotonic() + SETTLED_S
    while time.monotonic() < end and (
        waiting := {name: checks for name, found in findings.items() if (checks := coming_up(found, traits))}
    ):
        for name in waiting.keys() - reported:
            report(f"{name}: booted {findings[name].uptime_s:.0f} s ago; waiting for {first_of(waiting[name], 1)}")
        reported |= waiting.keys()
        time.sleep(_LOOK_AGAIN_S)
        look_again(waiting)
