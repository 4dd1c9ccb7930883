"""The life of a node: states and legal transitions, as data."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a node stands."""

    REGISTERED = "registered"
    PROVISIONING = "provisioning"
    PROVISIONED = "provisioned"
    VALIDATED = "validated"
    BURNED_IN = "burned_in"
    ADMITTED = "admitted"
    QUARANTINED = "quarantined"
    DRAINED = "drained"
    RMA = "rma"
    RETIRED = "retired"


S = State
LEGAL: dict[State, frozenset[State]] = {
    S.REGISTERED: frozenset({S.PROVISIONING, S.QUARANTINED, S.RMA, S.RETIRED}),
    S.PROVISIONING: frozenset({S.PROVISIONED, S.QUARANTINED, S.DRAINED, S.PROVISIONING}),
    S.PROVISIONED: frozenset({S.PROVISIONING, S.VALIDATED, S.QUARANTINED, S.DRAINED}),
    S.VALIDATED: frozenset({S.PROVISIONING, S.BURNED_IN, S.QUARANTINED, S.DRAINED, S.VALIDATED}),
    S.BURNED_IN: frozenset({S.PROVISIONING, S.ADMITTED, S.QUARANTINED, S.DRAINED}),
    S.ADMITTED: frozenset({S.DRAINED, S.QUARANTINED}),
    S.QUARANTINED: frozenset({S.PROVISIONING, S.DRAINED, S.RMA, S.RETIRED, S.QUARANTINED}),
    S.DRAINED: frozenset({S.PROVISIONING, S.ADMITTED, S.QUARANTINED, S.RMA, S.RETIRED}),
    S.RMA: frozenset({S.REGISTERED, S.RETIRED}),
    S.RETIRED: frozenset({S.REGISTERED}),
}


def is_legal(current: State, wanted: State) -> bool:
    """Whether a node may go from `current` to `wanted` in one step."""
    return wanted in LEGAL[current]
