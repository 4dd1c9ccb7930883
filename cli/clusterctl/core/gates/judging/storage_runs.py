"""What the nodes of a group did on a shared file system at the same time: what belongs to one node, and what to all of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from clusterctl.core.parsers.storage_throughput import READ, SEEN, WRITE
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, Sample
from clusterctl.model.running_text import first_of
from clusterctl_tools.storage_throughput import GRANTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl_tools.storage_throughput import StorageRun, Transfer

_SHOWN = 5
_SOURCE = "storage_throughput.py of the burn-in"


@dataclass(frozen=True, slots=True)
class StorageGroup:
    """The whole outputs of all nodes of one run, in the order of the nodes, at least two.

    Attributes:
        blank: a passing result of the gate, without a node; its device is the mount point.
        samples: node -> its figures; none of one that had an error.
        seen_s: within what a write, and the answer to it, must be seen together.
    """

    blank: GateResult
    outputs: Mapping[str, StorageRun]
    samples: Mapping[str, Sequence[Sample]]
    seen_s: float

    @property
    def following(self) -> dict[str, str]:
        """Node -> the one that it shares its locks and marks with, and of which it reads a file."""
        nodes = list(self.outputs)
        return dict(zip(nodes, [*nodes[1:], nodes[0]], strict=True))


def wrong_contents(group: StorageGroup) -> dict[str, GateResult]:
    """Node -> its result, where it read something else than it had written."""
    wrong = {name: run for name, run in group.outputs.items() if run.wrong}
    found = {}
    for name, run in wrong.items():
        first = ", ".join(f"file {file} block {block}" for file, block in run.wrong_first[:_SHOWN])
        others = [n for n in wrong if n != name]
        found[name] = replace(
            group.blank,
            node=name,
            outcome=Outcome.FAIL,
            rule="content",
            metric="wrong_blocks",
            reason=GateReason.WRONG_CONTENT,
            expected="0",
            found=str(run.wrong),
            source=_SOURCE,
            value=float(run.wrong),
            limit=0.0,
            detail=f"{first}{f'; wrong on {first_of(others)}, too' if others else ''}",
        )
    return found


def group_faults(group: StorageGroup) -> tuple[GateResult, ...]:
    """What is wrong with the file system as the group uses it, one result per rule, without a node."""
    return tuple(
        fault for fault in (_errors(group), _other_content(group), _held_twice(group), _not_granted(group), _not_seen(group)) if fault
    )


def group_samples(group: StorageGroup) -> tuple[Sample, ...]:
    """The figures of the group: bandwidths over the time of the slowest node, sums of the rates of files, the longest round trip."""
    every: dict[str, list[Sample]] = {}
    for own in group.samples.values():
        for sample in own:
            every.setdefault(sample.metric, []).append(sample)
    made = {WRITE: [run.written for run in group.outputs.values()], READ: [run.read for run in group.outputs.values()]}
    found = []
    for metric, own in every.items():
        value = _together(made[metric]) if metric in made else max(s.value for s in own) if metric == SEEN else sum(s.value for s in own)
        found.append(replace(own[0], value=value, device="", op=group.blank.op))
    return tuple(found)


def spread_text(group: StorageGroup, metric: str) -> str:
    """How a figure spreads over the nodes, and which is the slowest. Shown only: one slow node among equals is not a verdict."""
    figures = {name: s for name, own in group.samples.items() for s in own if s.metric == metric}
    values = [s.value for s in figures.values()]
    worst = max(figures, key=lambda n: figures[n].value) if metric == SEEN else min(figures, key=lambda n: figures[n].value)
    unit = next(iter(figures.values())).unit
    text = f"{len(values)} nodes together, {_number(min(values))} to {_number(max(values))} {unit} each, median {_number(median(values))}, slowest {worst}"
    cached = [name for name, run in group.outputs.items() if metric == READ and not run.direct]
    return f"{text}; without direct I/O on {first_of(cached)}, so a cache may have answered" if cached else text


def _together(transfers: Sequence[Transfer | None]) -> float:
    """GB/s: all bytes over the time of the slowest node, which all of them took."""
    own = [t for t in transfers if t]
    return sum(t.done_bytes for t in own) / max(t.duration_s for t in own) / 1e9


def _errors(group: StorageGroup) -> GateResult | None:
    by_error: dict[str, list[str]] = {}
    for name, run in group.outputs.items():
        for error in run.errors:
            by_error.setdefault(f"{error.code} ({error.detail}) in phase {error.phase}", []).append(name)
    texts = [f"{text} on {first_of(names)}" for text, names in by_error.items()]
    return _fault(group, "errors", GateReason.IO_ERROR, texts, "no error")


def _other_content(group: StorageGroup) -> GateResult | None:
    """What a node reads in a file of the next one, where that one reads its own files rightly."""
    texts = []
    for name, writer in group.following.items():
        run, own = group.outputs[name], group.outputs[writer]
        if own.wrong or not run.other_read:
            continue
        if run.other_wrong:
            texts.append(f"{name} reads another content than {writer} wrote and reads itself (wrong blocks: {run.other_wrong})")
        elif own.written and own.written.done_bytes and not run.other_read.done_bytes:
            texts.append(f"{name} finds nothing in the file that {writer} wrote")
    return _fault(group, "content", GateReason.CONTENT_DIFFERS, texts, "what was written")


def _held_twice(group: StorageGroup) -> GateResult | None:
    texts = [
        f"{kind}: {asker} got the lock that {holder} held"
        for kind, asker, holder, answer, held in _locks(group)
        if held and answer[0] == GRANTED
    ]
    return _fault(group, "lock", GateReason.LOCK_HELD_TWICE, texts, "one holder")


def _not_granted(group: StorageGroup) -> GateResult | None:
    """Also a lock of its own that a node did not get, and one that was not requested."""
    texts = [
        f"{kind}: {asker} did not get the lock that {holder} had released"
        for kind, asker, holder, answer, _ in _locks(group)
        if answer[1] != GRANTED
    ]
    texts += [f"{kind}: {holder} did not get its own lock" for kind, _, holder, _, held in _locks(group) if not held]
    return _fault(group, "lock", GateReason.LOCK_NOT_GRANTED, texts, "granted when free")


def _locks(group: StorageGroup) -> Iterator[tuple[str, str, str, tuple[str, str], bool]]:
    """Kind, asker, holder, the answers while it was held and when it was free, whether it was held. Not of nodes whose own error explains it."""
    usable = {name: run for name, run in group.outputs.items() if not any(e.phase == "lock" for e in run.errors)}
    following = group.following
    for asker, run in usable.items():
        holder = following[asker]
        held = {lock.kind: lock.held for lock in usable[holder].locks} if holder in usable else {}
        for lock in run.locks:
            if lock.kind in held:
                yield lock.kind, asker, holder, (lock.while_held, lock.when_free), held[lock.kind]


def _not_seen(group: StorageGroup) -> GateResult | None:
    texts, worst = [], 0.0
    for name, following in group.following.items():
        run = group.outputs[name]
        if run.asked is None or any(e.phase == "seen" for o in (name, following) for e in group.outputs[o].errors):
            continue
        slowest = max(run.round_trips_s, default=0.0)
        worst = max(worst, slowest)
        if run.asked > len(run.round_trips_s):
            texts.append(f"a write of {name} was never answered by {following}")
        elif slowest > group.seen_s:
            texts.append(f"{name} waited {_number(slowest)} s for the answer of {following}")
    fault = _fault(group, "seen", GateReason.WRITE_NOT_SEEN, texts, f"<= {_number(group.seen_s)} s there and back")
    return replace(fault, value=worst, limit=group.seen_s, unit="s") if fault else None


def _fault(group: StorageGroup, rule: str, reason: GateReason, texts: Sequence[str], expected: str) -> GateResult | None:
    if not texts:
        return None
    more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    detail = "; ".join(texts[:_SHOWN]) + more
    return replace(
        group.blank,
        outcome=Outcome.COULD_NOT_RUN,
        rule=rule,
        metric=rule,
        reason=reason,
        expected=expected,
        found=texts[0],
        source=_SOURCE,
        detail=detail,
    )


def _number(value: float) -> str:
    return f"{value:.3g}"
