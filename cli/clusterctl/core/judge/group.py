"""nccl_group: one run over many nodes. It proves all of them, or nobody: a bad number names no node. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.judge import nccl
from clusterctl.core.judge.limits import Comparison
from clusterctl.core.judge.parse_record import hint_for, parse_record
from clusterctl.model.gate_result import GateResult, Outcome, RawRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.judge.subject import Subject

GATE = "nccl_group"


def judge_group(subjects: Mapping[str, Subject], records: Sequence[RawRecord], bad: Mapping[str, str]) -> tuple[GateResult, ...]:
    """Results for the judged nodes that took part; `bad` are nodes that did not pass an earlier gate, and which."""
    results: list[GateResult] = []
    for record in (r for r in records if r.gate == GATE):
        lead = subjects.get(record.node)
        if lead is None:
            continue
        verdicts = _verdicts(lead, record)
        members = [subjects[n] for n in record.peers if n in subjects and not subjects[n].partner]
        suspects = sorted(n for n in record.peers if n in bad)
        for member in members:
            results += [_for_member(record, member.name, verdict, suspects) for verdict in verdicts]
    return tuple(results)


def _verdicts(lead: Subject, record: RawRecord) -> tuple[Comparison, ...]:
    reading = parse_record(record)
    if not reading.samples:
        return (Comparison(Outcome.COULD_NOT_RUN, reading.rule, "", detail=f"on {record.node}: {reading.detail}"),)
    profile = lead.profile
    return nccl.verdicts(record, reading, profile.settings.nccl_group, profile.for_gate(GATE), len(record.peers))


def _for_member(record: RawRecord, member: str, verdict: Comparison, suspects: list[str]) -> GateResult:
    outcome, detail, hint = verdict.outcome, verdict.detail, ""
    names = sorted(record.peers)
    if outcome is Outcome.FAIL:
        outcome = Outcome.COULD_NOT_RUN
        found = f"{verdict.metric} {verdict.found}, expected {verdict.expected}, source {verdict.source}"
        detail = f"the group of {len(names)} failed ({found}){f'; {detail}' if detail else ''}"
        if suspects:
            detail += f"; {', '.join(suspects)} did not pass an earlier gate"
            hint = (
                f"rerun without {', '.join(suspects)}: `clusterctl burnin {','.join(n for n in names if n not in suspects)} --gates {GATE}`"
            )
        else:
            detail += "; no node is singled out by it"
            half = names[: len(names) // 2]
            halve = f"halve the group to find the part that is bad: `clusterctl burnin {','.join(half)} --gates {GATE}`, then the rest; "
            hint = (halve if len(half) > 1 else "") + nccl.hint_of(verdict)
    elif outcome is Outcome.COULD_NOT_RUN:
        hint = hint_for(detail, member)
    return GateResult(
        GATE,
        member,
        outcome,
        verdict.rule,
        verdict.metric,
        verdict.expected,
        verdict.found,
        verdict.device,
        record.peers,
        verdict.source,
        detail or (f"{len(names)} nodes together" if outcome is Outcome.PASS else ""),
        hint,
        simulated=record.simulated,
    )
