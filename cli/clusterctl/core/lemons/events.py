"""What the record of nodes comes to as events: exclusions, repairs, suspicions, collisions, flaps of links, boots. Pure.

Fields of stored rows are read: states, causes, outcomes, reason codes, times. No sentence is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl.model.state import State
from clusterctl.model.trouble import Trouble, TroubleKind
from clusterctl.model.verdict import ReasonKind
from clusterctl_tools.nvlink_losses import LOSS_COUNTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterctl.model.records import TransitionRow
    from clusterctl.model.trouble import BadResult, TroubleSources

# A role that failed, missing evidence, a tool that could not run and what a whole rack has show nothing about the machine.
_FAULTS = frozenset({ReasonKind.GATE_FAILED, ReasonKind.CHECK_FAILED, ReasonKind.UNREACHABLE})
R = GateReason
# What a result points at on the device itself; what is missing, not covered or shared with others is left out.
_AT_FAULT = frozenset(
    {
        *(R.BELOW_FLOOR, R.BELOW_PEERS, R.ABOVE_LIMIT, R.ABOVE_PEERS),
        *(R.ABOVE_CEILING, R.WRONG_RESULTS, R.TEST_FAILED, R.TEST_NOT_PASSED, R.ROW_REMAP),
        *(R.RAISED_BY_LOAD, R.DEVICE_LOST, R.LINK_DOWNTRAINED, R.SLOWED_DOWN, R.QUERY_SLOW, R.REBOOTED, R.WRONG_CONTENT),
    }
)
# Counters of an HCA's port (sysfs) and of NVLink that count the loss of a link.
_LINK_COUNTERS = LOSS_COUNTERS | {"link_downed", "link_error_recovery"}


def troubles(sources: TroubleSources) -> frozenset[Trouble]:
    """Every event, of nodes and of their devices. One run is one event of its kind per node and per device, however many results it has."""
    failed: dict[tuple[str, str], set[str]] = {}
    for result in sources.results:
        if result.outcome is Outcome.FAIL:
            failed.setdefault((result.node, result.run_id), set()).add(result.device)
    moves = tuple(_moves(sources.transitions, failed))
    excluded_by = {(m.node, m.run_id) for m in moves if m.kind is TroubleKind.EXCLUSION and m.run_id}
    results = (t for r in sources.results for t in _of_result(r, excluded=(r.node, r.run_id) in excluded_by))
    return frozenset((*moves, *results, *sources.boots, *(t for flap in sources.flaps for t in _on(flap, (flap.device,)))))


def _moves(transitions: Iterable[TransitionRow], failed: Mapping[tuple[str, str], set[str]]) -> Iterator[Trouble]:
    """A node is excluded once until it is admitted again: a test that fails anew on a node that is out is not a second exclusion."""
    out: dict[str, set[str]] = {}
    for row in transitions:
        if row.to_state is State.ADMITTED and row.node in out:
            devices = out.pop(row.node)
            yield from _on(Trouble(row.node, TroubleKind.REPAIR, row.at, row.run_id), devices)
        elif _excludes(row) and row.node not in out:
            out[row.node] = failed.get((row.node, row.run_id), set()) if row.run_id else set()
            yield from _on(Trouble(row.node, TroubleKind.EXCLUSION, row.at, row.run_id), out[row.node])


def _excludes(row: TransitionRow) -> bool:
    """A person who drains has reasons of their own; one who quarantines marks the node as bad, as do quarantines from before causes were recorded."""
    return row.cause in _FAULTS if row.cause or row.to_state is State.DRAINED else row.to_state is State.QUARANTINED


def _of_result(result: BadResult, *, excluded: bool) -> Iterator[Trouble]:
    kind = _kind(result, excluded=excluded)
    if kind:
        yield from _on(Trouble(result.node, kind, result.at, result.run_id), (result.device,))
    if result.metric in _LINK_COUNTERS and result.reason is R.RAISED_BY_LOAD:
        yield from _on(Trouble(result.node, TroubleKind.LINK_FLAP, result.at, result.run_id), (result.device,))


def _kind(result: BadResult, *, excluded: bool) -> TroubleKind | None:
    if result.reason is R.COLLISION:
        return TroubleKind.COLLISION
    if result.outcome is Outcome.FAIL and excluded:
        return None
    return TroubleKind.SUSPICION if result.reason in _AT_FAULT else None


def _on(trouble: Trouble, devices: Iterable[str]) -> Iterator[Trouble]:
    """The event of the node, and that of each device."""
    for device in ("", *devices):
        yield Trouble(trouble.node, trouble.kind, trouble.at, trouble.run_id, device)
