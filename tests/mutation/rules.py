"""The mutation rules for each check, as data: tests/cases/mutation/<role>.yml, and any_role.yml for rules common to all roles."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from clusterctl_validators.finding import Outcome
from mutation.check_patterns import fill_pattern, match_pattern
from support.plain_yaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from clusterctl_validators.finding import Finding

CASES = Path(__file__).resolve().parents[1] / "cases" / "mutation"
COMMON = "any_role"


class Rule(BaseModel):
    """How to change a setting out of band.

    Attributes:
        check: pattern of check ids. Captured parts are variables of `run`, in addition to `check` and `expected`.
        expected: pattern of expected values to which the rule applies; None for any.
        run: shell commands, run on the node as root.
        read: variable -> pattern of the check whose expected value it gets (the path of a file is in its `.present`).
        also: patterns of other ids of the same role that the change may affect; `because` gives the reason.
        object: what is changed; two changes of one object are never made in the same round. Default: the check id.
        after: shell commands that clean up after the repair.
        last: the change would prevent others, e.g. by removing a file, so it is made in a later round.
        variant: distinguishes two rules for one id.
        where: `node`, or `bmc` to run on this machine with the file of the lab's BMC as $bmc.
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
            message = f"{self.check}: {', '.join(others)} belongs to another role: declare it under `shared`"
            raise ValueError(message)
        return self


class SharedFact(BaseModel):
    """A fact that another role checks, too. Only for such a fact may the other role run in the repair.

    Attributes:
        check: pattern of the ids whose change the other role detects.
        tells: patterns of the ids of the other role's findings, all of one role.
        repairs: the other role repairs the fact; otherwise it must not make changes.
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
    """Check ids that are not settings, or that no role repairs, with the reason."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    reason: str = Field(min_length=20)


class RuleFile(BaseModel):
    """One file of rules. `prelude`: shell commands before each `run` in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prelude: str = ""
    settings: tuple[Rule, ...] = ()
    shared: tuple[SharedFact, ...] = ()
    exempt: tuple[Exempt, ...] = ()


@dataclass(frozen=True)
class Mutation:
    """One change of one setting.

    Attributes:
        also: patterns of other ids of its role that the change may affect.
        shared: facts that other roles check, too.
        expected: declared value of the setting.
    """

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
    shared: tuple[SharedFact, ...] = ()
    expected: str = ""

    def explains(self, check: str) -> bool:
        """Whether this change may cause a finding of that check."""
        return check == self.check or any(
            match_pattern(p, check) is not None for p in (*self.also, *(t for s in self.shared for t in s.tells))
        )


@dataclass(frozen=True)
class Catalogue:
    """The settings of a node.

    Attributes:
        mutations: the changes to make.
        exempt: check id -> reason.
        without: ids of settings that no rule changes.
        same: ids of settings that were tested with the same expected value on another node.
    """

    mutations: tuple[Mutation, ...]
    exempt: Mapping[str, str]
    without: tuple[str, ...]
    same: tuple[str, ...] = ()

    @property
    def settings(self) -> tuple[str, ...]:
        """The ids of all managed settings, with or without a change."""
        return tuple(dict.fromkeys([*(m.check for m in self.mutations), *self.without]))

    @property
    def expectations(self) -> frozenset[tuple[str, str]]:
        """Id and expected value of all settings with a change."""
        return frozenset((m.check, m.expected) for m in self.mutations)

    def without_known(self, known: frozenset[tuple[str, str]]) -> Catalogue:
        """The catalogue without the settings that another node has with the same expected value."""
        fresh = tuple(m for m in self.mutations if (m.check, m.expected) not in known)
        same = dict.fromkeys(m.check for m in self.mutations if (m.check, m.expected) in known)
        return replace(self, mutations=fresh, same=tuple(same))


def _role(pattern: str) -> str:
    return pattern.partition(".")[0]


def load_rules(name: str) -> RuleFile:
    """The rules of a role; empty if it has no file."""
    path = CASES / f"{name}.yml"
    return RuleFile.model_validate(load_yaml(path.read_text(encoding="utf-8"))) if path.exists() else RuleFile()


def mutation_catalogue(findings: Sequence[Finding]) -> Catalogue:
    """Match the passed checks of a healthy node with the rules. An exemption takes precedence over a rule of the role, which takes precedence over common rules."""
    judged = [f for f in findings if f.outcome is Outcome.PASS]
    by_check = {f.check: f for f in judged}
    common = load_rules(COMMON)
    own = {role: load_rules(role) for role in {f.role for f in judged}}
    mutations: list[Mutation] = []
    exempt: dict[str, str] = {}
    without: list[str] = []
    for finding in judged:
        reason = next((e.reason for e in own[finding.role].exempt if match_pattern(e.check, finding.check) is not None), "")
        rules = own[finding.role]
        made = [] if reason else _mutations_of(finding, rules, by_check) or _mutations_of(finding, common, by_check)
        if reason:
            exempt[finding.check] = reason
        elif made:
            shared = tuple(_shared(finding, rules.shared))
            mutations += [replace(m, shared=shared) for m in made]
        else:
            without.append(finding.check)
    return Catalogue(tuple(mutations), exempt, tuple(without))


def _mutations_of(finding: Finding, rules: RuleFile, by_check: Mapping[str, Finding]) -> list[Mutation]:
    made = []
    for rule in rules.settings:
        parts = match_pattern(rule.check, finding.check)
        if parts is None or (rule.expected is not None and match_pattern(rule.expected, finding.expected) is None):
            continue
        facts = {"check": finding.check, "expected": finding.expected, **parts}
        if not all(fill_pattern(p, facts) in by_check for p in rule.read.values()):
            continue
        facts |= {name: by_check[fill_pattern(p, facts)].expected for name, p in rule.read.items()}
        made.append(_mutation(finding, rule, rules.prelude, facts))
    return made


def _shared(finding: Finding, pairs: Iterable[SharedFact]) -> Iterator[SharedFact]:
    for pair in pairs:
        parts = match_pattern(pair.check, finding.check)
        if parts is not None:
            yield pair.model_copy(update={"tells": tuple(fill_pattern(p, parts) for p in pair.tells)})


def _mutation(finding: Finding, rule: Rule, prelude: str, facts: dict[str, Any]) -> Mutation:
    return Mutation(
        finding.check,
        finding.role,
        rule.variant,
        shell_script(f"{prelude}\n{rule.run}" if prelude else rule.run, facts),
        shell_script(rule.after, facts) if rule.after else "",
        fill_pattern(rule.object, facts),
        tuple(fill_pattern(p, facts) for p in rule.also),
        rule.because,
        rule.where,
        rule.last,
        expected=finding.expected,
    )


def shell_script(text: str, facts: Mapping[str, str]) -> str:
    """A shell script with the facts as quoted variables that exits at the first failing command."""
    given = "".join(f"{name}={shlex.quote(value)}\n" for name, value in facts.items())
    return f"set -eu\n{given}{text}"


def split_into_rounds(mutations: Iterable[Mutation]) -> list[list[Mutation]]:
    """Distribute mutations over few rounds. A round changes no object twice; mutations marked `last` come in the last rounds."""
    remaining = list(mutations)
    return _rounds([m for m in remaining if not m.last]) + _rounds([m for m in remaining if m.last])


def _rounds(mutations: Iterable[Mutation]) -> list[list[Mutation]]:
    result: list[list[Mutation]] = []
    changed: list[set[str]] = []
    for mutation in mutations:
        at = next((i for i, objects in enumerate(changed) if mutation.object not in objects), len(result))
        if at == len(result):
            result.append([])
            changed.append(set())
        result[at].append(mutation)
        changed[at].add(mutation.object)
    return result
