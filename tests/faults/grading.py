"""What the program states about a rack, by the fields of its results, against what the oracle says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.installed_skew import installed_text
from clusterctl.core.repairs import repair_of_finding, repair_of_result
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.repair import NO_REPAIR, Component, Repair
from clusterctl_validators.finding import Outcome
from faults.rows import hint_words
from faults.world import device_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.installed_skew import InstalledSkew
    from clusterctl.model.repair import NextAction
    from clusterctl_validators.finding import Finding
    from faults.rows import Oracle

HOLDS = (Outcome.FAIL, Outcome.COULD_NOT_RUN)
SHOWN = (*HOLDS, Outcome.WARN)
_OF_A_GPU = ("hardware.gpu[", "nvlink_domain.gpu[")
_ITEM = re.compile(r"\[([^\]]*)\]")
_NVLINK = re.compile(r"GPU (\d+) NVLink \d+")
_GPU = re.compile(r"GPU (\S+:\S+)")
# A result of the group has the part as `component`, and no next action.
_OF_SKEWS = {"memory": Repair(Component.MEMORY)}
_PORT = re.compile(r"(mlx5_\d+)/\d+")


@dataclass(frozen=True)
class Statement:
    """One result that is not a pass.

    Attributes:
        key: what judged it: gate, rule, metric and reason, or the id of the check without its items.
        device: of the part that it is about, by the fields of the result; empty where no field states it.
        repair: the part and the next action, as every document of the program states them.
        named: the actions that its hint names.
    """

    node: str
    key: str
    device: str
    outcome: Outcome
    repair: Repair
    named: frozenset[NextAction]

    @property
    def place(self) -> tuple[str, str, str, Outcome]:
        """What makes it the same as one of a healthy rack with the same noise."""
        return (self.node, self.key, self.device, self.outcome)


@dataclass(frozen=True)
class Grade:
    """One fault of a row.

    Attributes:
        held: the node, or for a switch any node behind it, is kept out of the pool; detected: something is shown about it at all.
        right_action: the next action of a result about the right component is one of the oracle's; named_action: any that its hint names is.
        hint_names_it: each hint about the right component names the next action of its result.
    """

    detected: bool
    held: bool
    right_component: bool
    right_action: bool
    named_action: bool
    hint_names_it: bool
    shown_by: tuple[str, ...]


def of_gates(results: Iterable[GateResult]) -> tuple[Statement, ...]:
    """The statements of a burn-in."""
    found = []
    for r in (r for r in results if r.outcome in SHOWN and r.reason is not GateReason.LEFT_OUT):  # of a group, for what another gate says
        key = ".".join((r.gate, r.rule, r.metric, r.reason.value if r.reason else ""))
        repair = repair_of_result(r)
        found.append(Statement(r.node, key, repair.component_name or _device(r.device), r.outcome, repair, _named(r.hint)))
    return tuple(found)


def of_checks(node: str, findings: Iterable[Finding]) -> tuple[Statement, ...]:
    """The statements of validators about a node."""
    found = []
    for f in (f for f in findings if f.outcome in SHOWN):
        item = next(iter(_ITEM.findall(f.check)), "")
        device = f"gpu{item}" if f.check.startswith(_OF_A_GPU) else item
        found.append(Statement(node, _ITEM.sub("", f.check), device, f.outcome, repair_of_finding(f), _named(f.hint)))
    return tuple(found)


def of_skews(skews: Iterable[InstalledSkew]) -> tuple[Statement, ...]:
    """The statements of a burn-in about the nodes of the minority; about all where there is none."""
    found = []
    for one in skews:
        nodes = [node for version in one.versions[one.majority :] for node in version.nodes]
        named = _named(installed_text(one))
        found += [
            Statement(node, f"installed.{one.component}", "", Outcome.WARN, _OF_SKEWS.get(one.component, NO_REPAIR), named)
            for node in nodes
        ]
    return tuple(found)


def grade(oracle: Oracle, stated: Sequence[Statement], healthy: Sequence[Statement], blamed: frozenset[str]) -> Grade:
    """A fault by what is stated about its node, or, where a switch is at fault, about those behind it; not by what the healthy twin shows, too."""
    usual = {s.place for s in healthy}
    own = [s for s in stated if s.place not in usual and (s.node == oracle.node if oracle.node else s.node not in blamed)]
    about = [s for s in own if s.repair.component is oracle.component and s.device == (oracle.device or s.device)]
    worst = [s for s in about if s.outcome in HOLDS] or about
    return Grade(
        detected=bool(own),
        held=any(s.outcome in HOLDS for s in own),
        right_component=bool(about),
        right_action=any(s.repair.next_action in oracle.actions for s in worst),
        named_action=any(s.named & set(oracle.actions) for s in worst),
        hint_names_it=all(s.repair.next_action is None or s.repair.next_action in s.named for s in about),
        shown_by=tuple(dict.fromkeys(f"{s.outcome.value} {s.key} {s.device}".strip() for s in own))[:8],
    )


def _device(text: str) -> str:
    """As the vendor's tools number it."""
    if nvlink := _NVLINK.fullmatch(text):
        return f"gpu{nvlink[1]}"
    if port := _PORT.fullmatch(text):
        return port[1]
    address = _GPU.sub(r"\1", text)
    return device_at(address) or text if ":" in address else text


def _named(hint: str) -> frozenset[NextAction]:
    return frozenset(action for action, words in hint_words().items() if words.search(hint))
