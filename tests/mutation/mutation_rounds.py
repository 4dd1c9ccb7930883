"""Rounds of mutations: change settings one by one, check that each change is detected, repair all of them, check that no finding remains."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from mutation.rules import split_into_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clusterctl_validators.finding import Finding
    from mutation.node_under_test import NodeUnderTest, Repair
    from mutation.rules import Catalogue, Mutation


@dataclass
class Record:
    """One change and its result.

    Attributes:
        told: ids of new findings after the change.
        because: why the change may cause findings with other ids.
        problem: why the change was not detected or not repaired; empty if it was.
    """

    check: str
    role: str
    variant: str
    detected: bool = False
    repaired: bool = False
    told: tuple[str, ...] = ()
    because: str = ""
    problem: str = ""


@dataclass
class Score:
    """The results of one node.

    Attributes:
        kind: kind of node.
        settings: ids of all managed settings.
        exempt: id -> reason.
        without: ids of settings that no mutation changes.
        same: ids of settings that were tested with the same expected value on another node.
        changed_again: roles that made changes in a second run on the freshly provisioned node.
    """

    kind: str
    settings: tuple[str, ...]
    exempt: dict[str, str]
    without: tuple[str, ...]
    records: list[Record] = field(default_factory=list)
    false_findings: list[str] = field(default_factory=list)
    same: tuple[str, ...] = ()
    changed_again: tuple[str, ...] = ()

    def _all(self, attribute: str) -> set[str]:
        seen = {r.check for r in self.records}
        return seen - {r.check for r in self.records if not getattr(r, attribute)}

    @property
    def missed(self) -> list[str]:
        """Settings with a change that was not both detected and repaired, and settings without a change."""
        good = self._all("detected") & self._all("repaired")
        return [s for s in self.settings if s not in good]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "kind": self.kind,
            "settings": len(self.settings),
            "detected": len(self._all("detected")),
            "repaired": len(self._all("repaired")),
            "false_findings": len(self.false_findings),
            "missed": self.missed,
            "false_finding_ids": self.false_findings,
            "same": list(self.same),
            "changed_again": list(self.changed_again),
            "without_mutation": list(self.without),
            "exempt": self.exempt,
            "mutations": [asdict(r) for r in self.records],
        }


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """The document `build/mutation.json`: sums over all nodes, and the results of each."""
    each = [score.to_json() for score in scores]
    sums = {key: sum(one[key] for one in each) for key in ("settings", "detected", "repaired", "false_findings")}
    return {"simulated": True, **sums, "missed": [check for one in each for check in one["missed"]], "nodes": each}


def run_mutations(kind: str, node: NodeUnderTest, catalogue: Catalogue, log: Callable[[str], None], save: Callable[[Score], None]) -> Score:
    """Run all mutations of the catalogue, role by role. `log` gets progress messages, `save` the score after each round."""
    score = Score(kind, catalogue.settings, dict(catalogue.exempt), catalogue.without, same=catalogue.same)
    for role in node.declared.spec.roles:
        mine = [m for m in catalogue.mutations if m.role == role]
        batches = split_into_rounds(mine)
        for number, batch in enumerate(batches, 1):
            records = run_round(node, batch, score.false_findings)
            score.records += records
            good = sum(r.detected and r.repaired for r in records)
            log(f"{role} {number}/{len(batches)}: {good} of {len(records)} detected and repaired")
            for record in (r for r in records if r.problem):
                log(f"  {record.check} {record.variant}: {record.problem}")
            save(score)
    return score


def run_round(node: NodeUnderTest, batch: Sequence[Mutation], false_findings: list[str]) -> list[Record]:
    """Change settings of one role one by one; each must cause a finding with its own id only. Then repair the node; no finding may remain."""
    role = batch[0].role
    before = node.bad([role])
    false_findings += [c for c in before if c not in false_findings]
    known = set(before)
    made: list[Mutation] = []
    records = []
    for mutation in batch:
        record = Record(mutation.check, mutation.role, mutation.variant, because=mutation.because)
        records.append(record)
        error = node.run(mutation.script, mutation.where)
        if error:
            record.problem = f"could not be changed: {error}"
        made.append(mutation)
        now = node.bad([role])
        record.told = tuple(c for c in now if c not in known)
        record.problem = record.problem or _detection_problem(mutation, record.told, made, set(now), known)
        record.detected = not record.problem
        known |= set(now)
    _check_other_roles(node, role, made, records)
    repair = node.repair()
    remaining = node.bad()
    for mutation in made:
        if mutation.after:
            node.run(mutation.after, mutation.where)
    for record, mutation in zip(records, batch, strict=True):
        problem = _repair_problem(mutation, made, repair, remaining)
        record.repaired = not problem
        record.problem = "; ".join(p for p in (record.problem, problem) if p)
    explained = [c for c in remaining if any(m.explains(c) for m in made)]
    false_findings += [c for c in remaining if c not in explained and c not in false_findings]
    return records


def _detection_problem(mutation: Mutation, new: Sequence[str], made: Iterable[Mutation], now: set[str], before: set[str]) -> str:
    """Why a change was not detected correctly; empty if it was."""
    if mutation.check not in now:
        return "no finding after the change"
    if mutation.check in before and mutation.check not in new and not any(m.explains(mutation.check) for m in made if m is not mutation):
        return "the finding existed before the change"
    unexpected = [c for c in new if not mutation.explains(c)]
    return f"additional findings: {', '.join(unexpected)}" if unexpected else ""


def _check_other_roles(node: NodeUnderTest, role: str, made: Sequence[Mutation], records: Sequence[Record]) -> None:
    """Mark the records as not detected if another role has findings that are not declared as effects of the changes."""
    unexpected = [c for c, f in node.bad().items() if f.role != role and not any(m.explains(c) for m in made)]
    for record in records if unexpected else ():
        record.detected = False
        record.problem = "; ".join(p for p in (record.problem, f"findings of another role: {', '.join(unexpected)}") if p)


def _repair_problem(mutation: Mutation, made: Iterable[Mutation], repair: Repair, remaining: dict[str, Finding]) -> str:
    """Why a change was not repaired by its role alone; empty if it was. Another role may run if it is declared to share the fact, but must not make changes."""
    if mutation.check in remaining:
        return f"not repaired: {remaining[mutation.check].found}" + (f" ({repair.problem})" if repair.problem else "")
    pairs = [s for m in made for s in m.shared]
    others = [r for r in repair.ran if r not in ("", mutation.role, *(s.role for s in pairs))]
    if others:
        return f"other roles ran: {', '.join(others)}"
    helpers = [r for r in repair.changed if r not in (mutation.role, *(s.role for s in pairs if s.repairs))]
    return f"other roles made changes: {', '.join(helpers)}" if helpers else ""
