"""What is changed for which check, as data: tests/cases/mutation/<role>.yml, and any_role.yml for what the roles have in common."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from clusterctl_validators.finding import Outcome
from mutation.pattern import caught, filled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl_validators.finding import Finding

CASES = Path(__file__).resolve().parents[1] / "cases" / "mutation"
COMMON = "any_role"


class Rule(BaseModel):
    """How to change a setting behind Ansible's back.

    Attributes:
        check: pattern of the ids; what it catches is in the environment of `run`, next to `check` and `expected`.
        expected: only checks that expect this (pattern); None = whatever.
        run: shell words, run on the node as root. `{path}`-like facts come from `read`.
        read: name -> pattern of the finding whose expected value it is (the path of a file is in its `.present`).
        also: patterns of further ids of the same role that the same fact must or may move; `because` says why.
        object: what is changed; two changes of one object are never made together. Default: the id.
        after: shell words that tidy up, once the role has repaired the setting.
        last: it takes the ground from under other changes (a file is removed), so it waits until those are done.
        variant: tells two rules of one id apart.
        where: on the `node`, or on the `bmc`: then on this machine, with the file of the lab's BMC as $bmc.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    run: str
    expected: str | None = None
    read: dict[str, str] = Field(default_factory=dict)
    also: tuple[str, ...] = ()
    because: str = ""
    object: str = "<check>"
    after: str = ""
    last: bool = False
    variant: str = ""
    where: Literal["node", "bmc"] = "node"

    @model_validator(mode="after")
    def _also_is_of_the_same_role(self) -> Self:
        others = [p for p in self.also if _role(p) != _role(self.check)]
        if others:
            message = f"{self.check}: {', '.join(others)} is another role's: name the pair under `shared`"
            raise ValueError(message)
        return self


class Shared(BaseModel):
    """A fact that another role tells of, too: the only reason for which that role may be in the repair.

    Attributes:
        check: pattern of the ids whose change the other role sees.
        tells: patterns of what it then says, all of one role.
        repairs: the other role is the one that can put it right; else it must change nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    tells: tuple[str, ...] = Field(min_length=1)
    reason: str = Field(min_length=20)
    repairs: bool = False

    @model_validator(mode="after")
    def _another_role(self) -> Self:
        if len({_role(p) for p in self.tells}) != 1 or self.role == _role(self.check):
            message = f"{self.check}: tells must name one other role"
            raise ValueError(message)
        return self

    @property
    def role(self) -> str:
        """The other role."""
        return _role(self.tells[0])


class Exempt(BaseModel):
    """Ids that are no settings, or that no role repairs, with the reason."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    reason: str = Field(min_length=20)


class RuleFile(BaseModel):
    """One file of rules. `prelude`: shell words before each `run` of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prelude: str = ""
    settings: tuple[Rule, ...] = ()
    shared: tuple[Shared, ...] = ()
    exempt: tuple[Exempt, ...] = ()


@dataclass(frozen=True)
class Mutation:
    """One change of one setting, of which `expected` is declared. `also`: patterns of ids of its role that may appear with it; `shared`: what other roles tell of the same fact."""

    check: str
    role: str
    variant: str
    script: str
    after: str
    object: str
    also: tuple[str, ...]
    because: str
    where: str
    last: bool = False
    shared: tuple[Shared, ...] = ()
    expected: str = ""

    def explains(self, check: str) -> bool:
        """Whether this change may move that check."""
        return check == self.check or any(caught(p, check) is not None for p in (*self.also, *(t for s in self.shared for t in s.tells)))


@dataclass(frozen=True)
class Catalogue:
    """The settings of a node: what is changed, what is exempt with which reason, and what nothing changes.

    Attributes:
        same: settings that another node had with the same expectation, where they were changed.
    """

    mutations: tuple[Mutation, ...]
    exempt: Mapping[str, str]
    without: tuple[str, ...]
    same: tuple[str, ...] = ()

    @property
    def settings(self) -> tuple[str, ...]:
        """Every managed setting, whether something changes it or not."""
        return tuple(dict.fromkeys([*(m.check for m in self.mutations), *self.without]))

    @property
    def expectations(self) -> frozenset[tuple[str, str]]:
        """Id and expectation of every setting that something changes."""
        return frozenset((m.check, m.expected) for m in self.mutations)

    def besides(self, known: frozenset[tuple[str, str]]) -> Catalogue:
        """Without what is `known` with the same expectation from another node."""
        fresh = tuple(m for m in self.mutations if (m.check, m.expected) not in known)
        same = dict.fromkeys(m.check for m in self.mutations if (m.check, m.expected) in known)
        return replace(self, mutations=fresh, same=tuple(same))


def _role(pattern: str) -> str:
    return pattern.partition(".")[0]


def load(name: str) -> RuleFile:
    """The rules of a role; none where it has no file of its own."""
    path = CASES / f"{name}.yml"
    return RuleFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))) if path.exists() else RuleFile()


def catalogue(findings: Sequence[Finding]) -> Catalogue:
    """Match every check that a healthy node passes with the rules. A role's own rule wins over a common one, a reason over both."""
    judged = [f for f in findings if f.outcome is Outcome.PASS]
    by_check = {f.check: f for f in judged}
    common = load(COMMON)
    own = {role: load(role) for role in {f.role for f in judged}}
    mutations: list[Mutation] = []
    exempt: dict[str, str] = {}
    without: list[str] = []
    for finding in judged:
        reason = next((e.reason for e in own[finding.role].exempt if caught(e.check, finding.check) is not None), "")
        rules = own[finding.role]
        made = [] if reason else _made(finding, rules, by_check) or _made(finding, common, by_check)
        if reason:
            exempt[finding.check] = reason
        elif made:
            shared = tuple(_shared(finding, rules.shared))
            mutations += [replace(m, shared=shared) for m in made]
        else:
            without.append(finding.check)
    return Catalogue(tuple(mutations), exempt, tuple(without))


def _made(finding: Finding, rules: RuleFile, by_check: Mapping[str, Finding]) -> list[Mutation]:
    made = []
    for rule in rules.settings:
        parts = caught(rule.check, finding.check)
        if parts is None or (rule.expected is not None and caught(rule.expected, finding.expected) is None):
            continue
        facts = {"check": finding.check, "expected": finding.expected, **parts}
        if not all(filled(p, facts) in by_check for p in rule.read.values()):
            continue
        facts |= {name: by_check[filled(p, facts)].expected for name, p in rule.read.items()}
        made.append(_mutation(finding, rule, rules.prelude, facts))
    return made


def _shared(finding: Finding, pairs: Iterable[Shared]) -> Iterator[Shared]:
    for pair in pairs:
        parts = caught(pair.check, finding.check)
        if parts is not None:
            yield pair.model_copy(update={"tells": tuple(filled(p, parts) for p in pair.tells)})


def _mutation(finding: Finding, rule: Rule, prelude: str, facts: dict[str, Any]) -> Mutation:
    return Mutation(
        finding.check,
        finding.role,
        rule.variant,
        script(f"{prelude}\n{rule.run}" if prelude else rule.run, facts),
        script(rule.after, facts) if rule.after else "",
        filled(rule.object, facts),
        tuple(filled(p, facts) for p in rule.also),
        rule.because,
        rule.where,
        rule.last,
        expected=finding.expected,
    )


def script(text: str, facts: Mapping[str, str]) -> str:
    """Shell text with the facts as variables, quoted; it stops at the first command that fails."""
    given = "".join(f"{name}={shlex.quote(value)}\n" for name, value in facts.items())
    return f"set -eu\n{given}{text}"


def rounds(mutations: Iterable[Mutation]) -> list[list[Mutation]]:
    """The mutations in few rounds: no object is changed twice in one, and what takes the ground from others comes last."""
    chosen = list(mutations)
    return _rounds([m for m in chosen if not m.last]) + _rounds([m for m in chosen if m.last])


def _rounds(mutations: Iterable[Mutation]) -> list[list[Mutation]]:
    result: list[list[Mutation]] = []
    taken: list[set[str]] = []
    for mutation in mutations:
        at = next((i for i, objects in enumerate(taken) if mutation.object not in objects), len(result))
        if at == len(result):
            result.append([])
            taken.append(set())
        result[at].append(mutation)
        taken[at].add(mutation.object)
    return result
