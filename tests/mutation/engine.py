"""Rounds over the settings of a node: change one after the other, see each told, let the role repair them all, see silence."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from mutation.rules import rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clusterctl_validators.finding import Finding
    from mutation.bench import Bench, Repair
    from mutation.rules import Catalogue, Mutation


@dataclass
class Record:
    """One change and what became of it.

    Attributes:
        told: ids that were not as declared after the change, and were before.
        problem: why it is not detected or not repaired; empty where it is.
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
    """All of one node.

    Attributes:
        kind: which of the nodes under test it is.
        same: settings that were changed on another node, with the same expectation.
        changed_again: roles that changed something when they ran a second time on the fresh node.
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
        """Settings that were not both detected and repaired, by every change that was made to them."""
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


def total(scores: Sequence[Score]) -> dict[str, Any]:
    """`build/mutation.json`: the sums over all nodes, and each node."""
    each = [score.to_json() for score in scores]
    sums = {key: sum(one[key] for one in each) for key in ("settings", "detected", "repaired", "false_findings")}
    return {"simulated": True, **sums, "missed": [check for one in each for check in one["missed"]], "nodes": each}


def run(kind: str, bench: Bench, catalogue: Catalogue, tell: Callable[[str], None], save: Callable[[Score], None]) -> Score:
    """Every mutation of the catalogue, role by role; `save` gets the score after each round."""
    score = Score(kind, catalogue.settings, dict(catalogue.exempt), catalogue.without, same=catalogue.same)
    for role in bench.node.spec.roles:
        mine = [m for m in catalogue.mutations if m.role == role]
        batches = rounds(mine)
        for number, batch in enumerate(batches, 1):
            records = one_round(bench, batch, score.false_findings)
            score.records += records
            good = sum(r.detected and r.repaired for r in records)
            tell(f"{role} {number}/{len(batches)}: {good} of {len(records)} detected and repaired")
            for record in (r for r in records if r.problem):
                tell(f"  {record.check} {record.variant}: {record.problem}")
            save(score)
    return score


def one_round(bench: Bench, batch: Sequence[Mutation], false_findings: list[str]) -> list[Record]:
    """Change settings of one role one after the other, each told by exactly its own id; then repair, then nothing may be told."""
    role = batch[0].role
    before = bench.bad([role])
    false_findings += [c for c in before if c not in false_findings]
    told = set(before)
    made: list[Mutation] = []
    records = []
    for mutation in batch:
        record = Record(mutation.check, mutation.role, mutation.variant, because=mutation.because)
        records.append(record)
        said = bench.run(mutation.script, mutation.where)
        if said:
            record.problem = f"could not be changed: {said}"
        made.append(mutation)
        now = bench.bad([role])
        record.told = tuple(c for c in now if c not in told)
        record.problem = record.problem or _wrong(mutation, record.told, made, set(now), told)
        record.detected = not record.problem
        told |= set(now)
    _elsewhere(bench, role, made, records)
    repair = bench.repair()
    left = bench.bad()
    for mutation in made:
        if mutation.after:
            bench.run(mutation.after, mutation.where)
    for record, mutation in zip(records, batch, strict=True):
        problem = _unrepaired(mutation, made, repair, left)
        record.repaired = not problem
        record.problem = "; ".join(p for p in (record.problem, problem) if p)
    explained = [c for c in left if any(m.explains(c) for m in made)]
    false_findings += [c for c in left if c not in explained and c not in false_findings]
    return records


def _wrong(mutation: Mutation, told: Sequence[str], made: Iterable[Mutation], now: set[str], before: set[str]) -> str:
    """Why the change is not detected as it should be."""
    if mutation.check not in now:
        return "changed, and no finding"
    if mutation.check in before and mutation.check not in told and not any(m.explains(mutation.check) for m in made if m is not mutation):
        return "was told before it was changed"
    strangers = [c for c in told if not mutation.explains(c)]
    return f"told besides: {', '.join(strangers)}" if strangers else ""


def _elsewhere(bench: Bench, role: str, made: Sequence[Mutation], records: Sequence[Record]) -> None:
    """Other roles must say nothing but what is declared as moved by the same fact."""
    strangers = [c for c, f in bench.bad().items() if f.role != role and not any(m.explains(c) for m in made)]
    for record in records if strangers else ():
        record.detected = False
        record.problem = "; ".join(p for p in (record.problem, f"another role told: {', '.join(strangers)}") if p)


def _unrepaired(mutation: Mutation, made: Iterable[Mutation], repair: Repair, left: dict[str, Finding]) -> str:
    """Why its role alone did not repair it. A role that tells of the same fact is in the plan, too: only as a declared pair, and changing nothing."""
    if mutation.check in left:
        return f"not repaired: {left[mutation.check].found}" + (f" ({repair.problem})" if repair.problem else "")
    pairs = [s for m in made for s in m.shared]
    others = [r for r in repair.ran if r not in ("", mutation.role, *(s.role for s in pairs))]
    if others:
        return f"repaired with the help of {', '.join(others)}"
    helpers = [r for r in repair.changed if r not in (mutation.role, *(s.role for s in pairs if s.repairs))]
    return f"changed something, too: {', '.join(helpers)}" if helpers else ""
