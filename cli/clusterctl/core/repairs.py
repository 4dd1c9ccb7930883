"""What a bad result is about, and what to do first, by its fields: gate, rule, metric, reason and device, or the id of a check. Pure, but for its own data file."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

from clusterctl.core.gates.dcgm_errors import DcgmCause, error_of, xid_action_name, xid_of_link
from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.repair import DCGM, NO_REPAIR, XID, Component, NextAction, Repair
from clusterctl_validators.finding import QUIET, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.model.drift import Deviation
    from clusterctl.model.gate_result import GateResult
    from clusterctl_validators.finding import Finding

_BY_ROLE = frozenset({NextAction.PROVISION, NextAction.REBOOT_NODE, NextAction.CHECK_SETTINGS, None})
_ITEM = re.compile(r"\[[^\]]*\]")
_XID_CHECK = re.compile(r"hardware\.(?:gpu\[\d+\]\.)?xid\[(\d{1,9})\]")


class RepairRow(BaseModel):
    """What a row states of results of one outcome, or of all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    outcome: Outcome | None = None
    component: Component | None = None
    action: NextAction | None = None


class GateRow(RepairRow):
    """Patterns of a gate's result and of its device."""

    result: Annotated[str, Field(min_length=1)]
    device: str = "*"


class CheckRow(RepairRow):
    """Patterns of a check's id without its items, and of what was found."""

    check: Annotated[str, Field(min_length=1)]
    found: str = "*"


class DcgmRepairs(BaseModel):
    """By DCGM's errors: their causes, and the names of their actions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    components: dict[Component, tuple[DcgmCause, ...]]
    actions: dict[NextAction, tuple[str, ...]]


class RepairTable(BaseModel):
    """The data file.

    Attributes:
        components, actions: each with its meaning, for people.
        xids, dcgm: by the code of an error; those of XIDs are the names of the actions in NVIDIA's catalogue.
        unmeasured: what to do first where a gate measured nothing.
        gates, checks: the first row that fits counts; one without a component leaves that to the next.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    components: dict[Component, str]
    actions: dict[NextAction, str]
    xids: dict[NextAction, tuple[str, ...]]
    dcgm: DcgmRepairs
    unmeasured: dict[NextAction, tuple[GateReason, ...]]
    gates: tuple[GateRow, ...]
    checks: tuple[CheckRow, ...]


@cache
def repair_table() -> RepairTable:
    """repairs.yml."""
    text = resources.files(__package__).joinpath("repairs.yml").read_text(encoding="utf-8")
    return RepairTable.model_validate(yaml.safe_load(text))


def repair_of_result(result: GateResult) -> Repair:
    """Of a gate's result; nothing where it is good. What was not measured is about no part, unless the gate itself states it."""
    if result.outcome in QUIET:
        return NO_REPAIR
    key = ".".join((result.gate, result.rule, result.metric, result.reason.value if result.reason else ""))
    if result.reason in NOT_MEASURED or result.reason in _of_unmeasured():
        usual = Repair(None, _of_unmeasured().get(result.reason))
    else:
        usual = _of_gate(key, result.device, result.outcome)
    return result.repair.or_else(_of_code(result.error_code, result.outcome)).or_else(usual)


def repair_of_finding(finding: Finding) -> Repair:
    """Of a finding; nothing where it is good, and no action where it has no hint. One with a cause above the node is about that cause."""
    if finding.outcome in QUIET:
        return NO_REPAIR
    found = _at_owner(repair_of_check(finding.above or finding.check, finding.found, finding.outcome), finding.owner)
    return found if finding.hint else Repair(found.component)


def repair_of_deviation(deviation: Deviation) -> Repair:
    """Of a check that drift found to have failed, or could not run; as of its finding."""
    found = _at_owner(repair_of_check(deviation.above or deviation.check, deviation.found), deviation.owner)
    return found if deviation.hint else Repair(found.component)


def is_of_role(repair: Repair) -> bool:
    """Whether a role, or the boot after it, is what mends it."""
    return repair.component in (None, Component.CONFIGURATION, Component.FABRIC_MANAGER, Component.IMEX) and repair.next_action in _BY_ROLE


def _at_owner(repair: Repair, owner: str) -> Repair:
    """What a role would mend is changed where its part of the node is owned."""
    return replace(repair, next_action=NextAction.CHANGE_AT_OWNER) if owner and is_of_role(repair) else repair


def repair_of_check(check: str, found: str = "", outcome: Outcome = Outcome.FAIL) -> Repair:
    """Of a check that did not pass."""
    usual, xid = _of_check(_ITEM.sub("", check), found, outcome), _XID_CHECK.fullmatch(check)
    return _of_code(f"{XID}{xid[1]}", outcome).or_else(usual) if xid else usual


@cache
def _of_code(code: str, outcome: Outcome) -> Repair:
    """By the code that the vendor gives the error; a warning is not yet a case for repair."""
    found = _of_error(code)
    mild = outcome is not Outcome.WARN or found.next_action is NextAction.MEASURE_AGAIN
    return found if mild else Repair(found.component)


def _of_error(code: str) -> Repair:
    table, number = repair_table(), code.rpartition(".")[2]
    if code.startswith(XID):
        action = xid_action_name(int(number))
        component = Component.NVLINK if xid_of_link(int(number)) else None
        return Repair(component, next((ours for ours, theirs in table.xids.items() if action in theirs), None))
    error = error_of(int(number)) if code.startswith(DCGM) else None
    if error is None:
        return NO_REPAIR
    component = next((ours for ours, causes in table.dcgm.components.items() if error.cause in causes), None)
    return Repair(component, next((ours for ours, theirs in table.dcgm.actions.items() if error.action in theirs), None))


@cache
def _of_unmeasured() -> Mapping[GateReason | None, NextAction]:
    return {reason: action for action, reasons in repair_table().unmeasured.items() for reason in reasons}


@cache
def _of_gate(key: str, device: str, outcome: Outcome) -> Repair:
    return _first(
        r for r in repair_table().gates if r.outcome in (None, outcome) and fnmatchcase(key, r.result) and fnmatchcase(device, r.device)
    )


def _of_check(check: str, found: str, outcome: Outcome) -> Repair:
    return _first(r for r in _rows_of(check) if r.outcome in (None, outcome) and fnmatchcase(found, r.found))


@cache
def _rows_of(check: str) -> tuple[CheckRow, ...]:
    return tuple(row for row in repair_table().checks if fnmatchcase(check, row.check))


def _first(rows: Iterable[RepairRow]) -> Repair:
    action: NextAction | None = None
    for row in rows:
        action = action or row.action
        if row.component:
            return Repair(row.component, action)
    return Repair(None, action)
