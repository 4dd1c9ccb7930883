"""Settings that are stored and not in force: which a warm reboot did not bring, so that a power cycle may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl_validators.finding import GOOD, Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clusterctl.model.validator_traits import ValidatorTraits
    from clusterctl_validators.finding import Finding


def awaiting_power_cycle(findings: Iterable[Finding], roles: Collection[str], traits: ValidatorTraits) -> tuple[str, ...]:
    """The checks of these roles that fail although what the next start would bring is right."""
    outcomes = {f.check: f.outcome for f in findings}
    failing = [check for check, outcome in outcomes.items() if outcome is Outcome.FAIL]
    cold = [setting for role in sorted(roles) for setting in traits.of(role).cold]
    return tuple(check for setting in cold for check in failing if outcomes.get(setting.stored_check(check)) in GOOD)


def may_wait(roles: Iterable[str], traits: ValidatorTraits) -> bool:
    """Whether some of these roles have settings that a warm reboot may not bring."""
    return any(traits.of(role).cold for role in roles)


def links_may_wait(roles: Iterable[str], traits: ValidatorTraits) -> bool:
    """Whether links may be down only for want of a power cycle."""
    return any(traits.of(role).cold_links for role in roles)
