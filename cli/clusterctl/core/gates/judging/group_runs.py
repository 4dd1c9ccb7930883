"""Runs of groups, and what a search in a bad one found. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.planning.group_search import GroupSearch, GroupState, SearchEnd
from clusterctl.core.gates.planning.group_steps import REST, rung_of, searched_rung, variant_of
from clusterctl.core.switch_tree import leaf_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord
from clusterctl.model.repair import Component, NextAction, Repair

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from clusterctl.core.gates.subject import Subject

# Of a run that the tool itself ended, or that hung.
_ENDED_EARLY = frozenset(
    {
        GateReason.EXIT_STATUS,
        GateReason.TOOL_FAILED,
        GateReason.NVLINK_UNUSABLE,
        GateReason.NVLS_UNUSABLE,
        GateReason.FABRIC_NOT_READY,
        GateReason.DRIVER_LIBRARY,
        GateReason.TIMED_OUT,
    }
)
# Of a node that a search finds; with one adapter at a time, of that adapter.
_OF_NODE, _OF_ADAPTER = Repair(Component.NODE), Repair(Component.ADAPTER, NextAction.RESEAT)
_ONLY_TOGETHER = "its halves and quarters are good by themselves, so no node is at fault: look at what carries their traffic together, uplinks, spine and congestion control; {hint}"
# Memory is shared between every two of them, so a member that lacks one other is good in each group without that one.
_TWO_STRANGERS = "its halves and quarters are good by themselves: two nodes do not have each other in their configuration, so compare /etc/nvidia-imex/nodes_config.cfg of all; {hint}"


@dataclass(frozen=True)
class GroupRun:
    """A run over a group.

    Attributes:
        members: those of its nodes that are known; its launcher first.
        verdicts: about the group as a whole, without hints.
        proofs: node -> what its own record proves of it; own_errors: node -> why nothing could be started there, of those that have a reason of their own.
    """

    record: RawRecord
    members: tuple[Subject, ...]
    verdicts: tuple[GateResult, ...]
    proofs: Mapping[str, GateResult] = field(default_factory=dict)
    own_errors: Mapping[str, GateResult] = field(default_factory=dict)

    @property
    def device(self) -> str:
        """The device that it measured on each node; empty for several."""
        return next((v.device for v in self.verdicts), "")

    @property
    def of_search(self) -> bool:
        """It was measured to find who made another one bad."""
        return searched_rung(rung_of(self.record)) is not None

    @property
    def passed(self) -> bool:
        """Something passed in it."""
        return any(v.outcome is Outcome.PASS for v in self.verdicts)

    @property
    def cut_off(self) -> bool:
        """It was ended at its time limit."""
        return any(v.reason is GateReason.TIMED_OUT for v in self.verdicts)

    @property
    def named(self) -> frozenset[str]:
        """The nodes that their own records show to be at fault."""
        return frozenset(name for name, proof in self.proofs.items() if proof.outcome is Outcome.FAIL)

    @property
    def state(self) -> GroupState:
        """Bad where the tool failed or hung, or a verdict of it is a fail (below the floor, wrong results), and no node's own record explains it."""
        if self.named or self.own_errors:
            return GroupState.UNKNOWN
        outcomes = {v.outcome for v in self.verdicts}
        if any(_is_bad(v) for v in self.verdicts):
            return GroupState.BAD
        return GroupState.OK if outcomes and outcomes <= {Outcome.PASS, Outcome.WARN, Outcome.NOT_APPLICABLE} else GroupState.UNKNOWN


@dataclass(frozen=True)
class Search:
    """A search in the group of `run`, and the runs that belong to it."""

    run: GroupRun
    variant: str
    search: GroupSearch
    runs: tuple[GroupRun, ...]

    def last_of(self, name: str) -> GroupRun:
        """The smallest run that a node was in."""
        return min((r for r in self.runs if name in r.record.peers), key=lambda r: len(r.record.peers))


def searches(runs: Sequence[GroupRun], rung: str) -> tuple[Search, ...]:
    """The searches in the bad groups of a rung: one for each group, in the bad run that shows most: over one device, then a variant, since the plain run hides adapters."""
    bad: dict[frozenset[str], GroupRun] = {}
    for run in sorted(runs, key=lambda r: (bool(r.device), bool(variant_of(r.record)))):
        if rung_of(run.record) == rung and run.state is GroupState.BAD:
            bad[frozenset(run.record.peers)] = run
    return tuple(_search(run, runs, rung) for run in bad.values())


def by_search(
    run: GroupRun, runs: Sequence[GroupRun], results: Mapping[str, Sequence[GateResult]], culprit_hint: Callable[[GateResult], str]
) -> dict[str, Sequence[GateResult]]:
    """Node -> its results of a bad run, where a search in its group found more than the run; `results` are those without it.

    `culprit_hint` is the next action for a node at fault; empty where its result has the usual one.
    """
    if run.state is not GroupState.BAD or not any(r.of_search for r in runs):
        return {}
    same = (s for s in searches(runs, rung_of(run.record)) if set(s.run.record.peers) == set(run.record.peers))
    search = next(same, None)
    end = search.search.end() if search else SearchEnd.OPEN
    if search is None or end in (SearchEnd.OPEN, SearchEnd.UNKNOWN):
        return {}
    if end is SearchEnd.CULPRITS:
        culprits = search.search.culprits()
        shown = {v.reason for name in culprits for v in search.last_of(name).verdicts if _is_bad(v)}
        named = culprits if run.record.step == search.run.record.step else ()
        return {name: _found(search, name, culprit_hint) if name in named else _spoiled(own, shown) for name, own in results.items()}
    if end is SearchEnd.COLLISION:
        # Wrong results and errors need no repetition.
        slow = all(v.reason is GateReason.BELOW_FLOOR for v in run.verdicts if _is_bad(v))
        own_run = run.record.step == search.run.record.step
        return {name: [_collision(r) for r in own] for name, own in results.items()} if own_run and slow else {}
    return {name: [_only_together(r) for r in own] for name, own in results.items()}


def _is_bad(verdict: GateResult) -> bool:
    return verdict.outcome is Outcome.FAIL or (verdict.outcome is Outcome.COULD_NOT_RUN and verdict.reason in _ENDED_EARLY)


def latest(runs: Sequence[GroupRun]) -> Mapping[str, Sequence[GroupRun]]:
    """Node -> its runs of the last rung, of each variant the one that was measured last: without the nodes that a search found, where there is such a run."""
    found: dict[str, dict[str, GroupRun]] = {}
    for run in sorted(runs, key=lambda r: rung_of(r.record) == REST):
        if rung_of(run.record) in ("", REST):
            for name in run.record.peers:
                found.setdefault(name, {})[variant_of(run.record)] = run
    return {name: tuple(own.values()) for name, own in found.items()}


def _search(run: GroupRun, runs: Iterable[GroupRun], rung: str) -> Search:
    places = {s.name: s.node.place for s in run.members}
    leaves = {name: leaf_of(place) for name, place in places.items()}
    order = sorted(run.record.peers, key=lambda n: (places[n].su if n in places else "", leaves.get(n, ""), n))
    variant, nodes = variant_of(run.record), set(run.record.peers)
    own = tuple(
        r for r in runs if searched_rung(rung_of(r.record)) == rung and variant_of(r.record) == variant and set(r.record.peers) <= nodes
    )
    return Search(run, variant, GroupSearch(tuple(order), leaves, tuple((r.record.peers, r.state) for r in own)), own)


def _found(search: Search, name: str, culprit_hint: Callable[[GateResult], str]) -> Sequence[GateResult]:
    pair = search.last_of(name)
    bad = next(v for v in pair.verdicts if _is_bad(v))
    others = ", ".join(sorted(set(pair.record.peers) - {name}))
    found = f": {bad.detail}" if bad.detail else ""
    detail = f"bad in every group that it was in, at last with {others}, whose other group is good{found}"
    result = replace(bad, node=name, peers=pair.record.peers, detail=detail, simulated=pair.record.simulated)
    return [replace(result, hint=culprit_hint(result), repair=_OF_ADAPTER if result.device else _OF_NODE)]


def _spoiled(own: Sequence[GateResult], shown: Collection[GateReason | None]) -> Sequence[GateResult]:
    """What the nodes at fault show by themselves, too, is theirs; wrong results beside a low bandwidth stay unexplained."""
    return [replace(r, reason=GateReason.GROUP_SPOILED) if r.outcome is Outcome.COULD_NOT_RUN and r.reason in shown else r for r in own]


def _collision(result: GateResult) -> GateResult:
    if result.outcome is Outcome.PASS:
        return result
    detail = f"bad once, good when the same nodes were measured again: {result.detail}"
    return replace(result, outcome=Outcome.WARN, reason=GateReason.COLLISION, detail=detail)


def _only_together(result: GateResult) -> GateResult:
    if result.outcome is not Outcome.COULD_NOT_RUN:
        return result
    text = _TWO_STRANGERS if result.reason is GateReason.NVLINK_UNUSABLE else _ONLY_TOGETHER
    return replace(result, hint=text.format(hint=result.hint))
