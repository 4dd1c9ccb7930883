"""The lifecycle of a node: legal transitions and next actions, as data. Explained in docs/explanation/lifecycle.md."""

from __future__ import annotations

from clusterctl.model.state import State

S = State
LEGAL: dict[State, frozenset[State]] = {
    S.REGISTERED: frozenset({S.PROVISIONING, S.QUARANTINED, S.DRAINED, S.MAINTENANCE, S.RMA, S.RETIRED}),
    S.PROVISIONING: frozenset({S.PROVISIONED, S.QUARANTINED, S.DRAINED, S.MAINTENANCE, S.PROVISIONING}),
    S.PROVISIONED: frozenset({S.PROVISIONING, S.VALIDATED, S.QUARANTINED, S.DRAINED, S.MAINTENANCE}),
    S.VALIDATED: frozenset({S.PROVISIONING, S.BURNED_IN, S.QUARANTINED, S.DRAINED, S.MAINTENANCE, S.VALIDATED}),
    S.BURNED_IN: frozenset({S.PROVISIONING, S.ADMITTED, S.QUARANTINED, S.DRAINED, S.MAINTENANCE}),
    S.ADMITTED: frozenset({S.DRAINED, S.MAINTENANCE, S.QUARANTINED}),
    S.QUARANTINED: frozenset({S.REGISTERED, S.PROVISIONING, S.DRAINED, S.MAINTENANCE, S.RMA, S.RETIRED, S.QUARANTINED}),
    S.DRAINED: frozenset({S.REGISTERED, S.PROVISIONING, S.ADMITTED, S.QUARANTINED, S.RMA, S.RETIRED, S.DRAINED, S.MAINTENANCE}),
    S.MAINTENANCE: frozenset({S.REGISTERED, S.PROVISIONING, S.QUARANTINED, S.RMA, S.RETIRED, S.MAINTENANCE}),
    S.RMA: frozenset({S.REGISTERED, S.RETIRED}),
    S.RETIRED: frozenset({S.REGISTERED}),
}

# Entering one of these voids all older evidence of the node: it may no longer be the machine that was measured.
VOIDS_EVIDENCE: frozenset[State] = frozenset({S.REGISTERED, S.PROVISIONING, S.QUARANTINED, S.MAINTENANCE, S.RMA, S.RETIRED})

# States during a run: a node that a dead run left in one of these is unfinished.
IN_PROGRESS: frozenset[State] = frozenset({S.PROVISIONING, S.PROVISIONED, S.VALIDATED, S.BURNED_IN})

# States of a node that is not present: it is not contacted, changed or counted as missing.
ABSENT: frozenset[State] = frozenset({S.RMA, S.RETIRED})

# States of a node that need not answer: a missing answer is not news.
MAY_BE_SILENT: frozenset[State] = ABSENT | {S.MAINTENANCE}

# States that a person can put a node into: it then has an owner, and stays there until it is released or explicitly included.
OWNABLE: frozenset[State] = frozenset({S.QUARANTINED, S.DRAINED, S.MAINTENANCE, S.RMA, S.RETIRED})

MEANING: dict[State, str] = {
    S.REGISTERED: "known from the inventory; nothing proven",
    S.PROVISIONING: "being changed; out of the pool",
    S.PROVISIONED: "roles applied without failure",
    S.VALIDATED: "every check of its declared state passed",
    S.BURNED_IN: "every expected gate passed",
    S.ADMITTED: "in the pool, with a complete admission record",
    S.QUARANTINED: "failed, or could not be proven good; kept out until released or provisioned again",
    S.DRAINED: "taken out of the pool on purpose",
    S.MAINTENANCE: "taken out by a person who works on it; need not answer",
    S.RMA: "sent back to the vendor",
    S.RETIRED: "gone for good",
}

_NEXT_STEP: dict[State, str] = {
    S.REGISTERED: "`clusterctl provision {node}` brings it into the pool",
    S.PROVISIONING: "a run is changing it, or was stopped: `clusterctl history {node}`; `clusterctl provision {node}` starts again",
    S.PROVISIONED: "`clusterctl provision {node}` continues with validation and burn-in",
    S.VALIDATED: "`clusterctl provision {node}` continues with burn-in",
    S.BURNED_IN: "`clusterctl admit {node}`",
    S.ADMITTED: "`clusterctl drain {node} --reason ...` first: an admitted node is never touched",
    S.QUARANTINED: "`clusterctl history {node}` shows why; repair it, then `clusterctl release {node}` and `clusterctl provision {node}`",
    S.DRAINED: "`clusterctl admit {node}` if its evidence is current, else `clusterctl provision {node}`",
    S.MAINTENANCE: "`clusterctl release {node}` when the work is done, then `clusterctl provision {node}`",
    S.RMA: "`clusterctl release {node}` when it is back",
    S.RETIRED: "`clusterctl release {node}` to take it in again",
}


def is_legal(current: State, wanted: State) -> bool:
    """Whether the lifecycle allows the transition from `current` to `wanted`."""
    return wanted in LEGAL[current]


def owner_after(owner: str, to: State, new_owner: str, operator: str) -> str:
    """Who owns a node of `owner` in its new state: what no person did takes it from nobody; empty = nobody. Maintenance is always somebody's."""
    if to is S.MAINTENANCE:
        return new_owner or owner or operator
    return (new_owner or owner) if to in OWNABLE else ""


def keeps_out(owner: str, to: State) -> bool:
    """Whether a node with this owner may not go on to `to` unless it is explicitly included."""
    return bool(owner) and to is not S.REGISTERED and to not in OWNABLE


def owned_text(state: State, owner: str) -> str:
    """`drained by bob`; the state alone where nobody owns the node."""
    return f"{state.value} by {owner}" if owner else state.value


def end_of_ownership(node: str) -> str:
    """What returns an owned node, as a hint."""
    return f"`clusterctl release {node}` if its owner agrees; --include-drained of `provision` and `admit` includes it as it is"


def next_action(node: str, current: State) -> str:
    """What an operator can do with a node in this state, as a hint."""
    return _NEXT_STEP[current].format(node=node)
