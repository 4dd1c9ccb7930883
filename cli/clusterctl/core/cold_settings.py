"""Settings that are stored and not in force: which a warm reboot did not bring, so that a power cycle may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl_validators.finding import GOOD, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clusterctl_validators.finding import Finding

# Role -> (first part of the check, value in force, value of the next start). Adapters and boards keep power through a warm reboot:
# some parameters of mlxconfig and some BIOS attributes are read at power-on only. Which ones on HGX B200 is not confirmed, so each is read back.
_COLD = {"ofed": ("ofed.mlxconfig[", ".running", ".persisted"), "bios": ("bios.attributes[", ".current", ".pending")}
COLD_ROLES = frozenset(_COLD)
# It sets the link type of adapters: with the wrong one, no link comes up.
LINK_ROLE = "ofed"


def awaiting_power_cycle(findings: Iterable[Finding], roles: Collection[str]) -> tuple[str, ...]:
    """The checks of these roles that fail although what the next start would bring is right."""
    outcomes = {f.check: f.outcome for f in findings}
    found = []
    for role in sorted(COLD_ROLES.intersection(roles)):
        start, now, then = _COLD[role]
        for check, outcome in outcomes.items():
            stored = outcomes.get(check.removesuffix(now) + then)
            if check.startswith(start) and check.endswith(now) and outcome is Outcome.FAIL and stored in GOOD:
                found.append(check)
    return tuple(found)
