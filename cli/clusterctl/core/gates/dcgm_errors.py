"""DCGM's error codes as data: cause, reason and next action of each, and which action wins. Pure, but for its own data file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.repair import DCGM, XID
from clusterctl_validators.nvidia import is_of_link, xid_action

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_XID = re.compile(r"\bXID (\d{1,9})\b", re.IGNORECASE)
_AS_XID = "as_xid"
# Nothing was tested, so the result is could not run.
UNTESTED = NOT_MEASURED | {GateReason.NOT_ALLOCATED, GateReason.TEST_NOT_PASSED}


class DcgmCause(StrEnum):
    """What a code is about; DIAGNOSTIC is DCGM itself, so that nothing was tested, and UNEXPLAINED leaves it to the text."""

    GPU = "gpu"
    MEMORY = "memory"
    NVLINK = "nvlink"
    PCIE = "pcie"
    THERMAL = "thermal"
    POWER = "power"
    SETTINGS = "settings"
    DIAGNOSTIC = "diagnostic"
    UNEXPLAINED = "unexplained"


class DcgmSeverity(StrEnum):
    """As DCGM has it (`dcgmErrorSeverity_enum`)."""

    NONE = "none"
    MONITOR = "monitor"
    ISOLATE = "isolate"
    UNKNOWN = "unknown"
    TRIAGE = "triage"
    CONFIG = "config"
    RESET = "reset"


class DcgmActionSource(StrEnum):
    """Whose action it is."""

    DCGM = "dcgm"
    NVSENTINEL = "nvsentinel"
    PROJECT = "project"


_HARDWARE = frozenset({DcgmCause.GPU, DcgmCause.MEMORY, DcgmCause.NVLINK, DcgmCause.PCIE, DcgmCause.THERMAL, DcgmCause.POWER})
_NO_WORKLOAD = frozenset({DcgmSeverity.ISOLATE, DcgmSeverity.RESET})


class DcgmAction(BaseModel):
    """A next action.

    Attributes:
        text: with `{gpu}` and `{node}`.
        xid: names of actions of the XID catalogue that weigh as much.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    xid: tuple[str, ...] = ()


class DcgmError(BaseModel):
    """A code.

    Attributes:
        id: what `dcgmi diag -j` prints as `error_id`.
        action: the name of one.
        by: whose action it is.
        reason: of the gate.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[int, Field(ge=0)]
    name: Annotated[str, Field(pattern=r"^DCGM_FR_[A-Z0-9_]+$")]
    severity: DcgmSeverity
    cause: DcgmCause
    action: Annotated[str, Field(min_length=1)]
    by: DcgmActionSource
    reason: GateReason = GateReason.TEST_FAILED

    @property
    def untested(self) -> bool:
        """It is not a verdict on the hardware."""
        return self.reason in UNTESTED

    @property
    def about_software(self) -> bool:
        """Its action repairs no hardware, so it may be recommended where nothing was proven."""
        return self.cause not in _HARDWARE

    @property
    def is_hardware_fault(self) -> bool:
        """A fault of the hardware with which DCGM lets no work run, whatever the test beside it reports."""
        return self.cause in _HARDWARE and self.severity in _NO_WORKLOAD


class DcgmErrorTable(BaseModel):
    """The data file: actions, the most severe first, and codes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    actions: tuple[DcgmAction, ...]
    codes: tuple[DcgmError, ...]


@dataclass(frozen=True, slots=True)
class DcgmVerdict:
    """What the codes of one result mean together: the one whose action is the most severe, with that action; `xid`: that its text names, where the action is its."""

    error: DcgmError
    action: str
    xid: int | None = None

    @property
    def code(self) -> str:
        """That of the error: `xid.79`, `dcgm.52`."""
        return f"{DCGM}{self.error.id}" if self.xid is None else f"{XID}{self.xid}"


@cache
def dcgm_error_table() -> DcgmErrorTable:
    """dcgm_errors.yml."""
    text = resources.files(__package__).joinpath("dcgm_errors.yml").read_text(encoding="utf-8")
    return DcgmErrorTable.model_validate(yaml.safe_load(text))


@cache
def _by_id() -> Mapping[int, DcgmError]:
    return {e.id: e for e in dcgm_error_table().codes}


@cache
def _ranks() -> Mapping[str, int]:
    return {action.name: rank for rank, action in enumerate(dcgm_error_table().actions)}


def error_of(code: int) -> DcgmError | None:
    """What the table has of a code."""
    return _by_id().get(code)


def explained_errors(codes: Iterable[int]) -> tuple[DcgmError, ...]:
    """Those that the table explains."""
    found = (_by_id().get(code) for code in codes)
    return tuple(e for e in found if e and e.cause is not DcgmCause.UNEXPLAINED)


def xid_action_name(code: int) -> str:
    """The action of NVIDIA's XID catalogue for an XID."""
    return xid_action(code)[0]


def xid_of_link(code: int) -> bool:
    """Whether an XID is about an NVLink of its GPU."""
    return is_of_link(code)


def rank_of_xid(action: str) -> int:
    """The place of an action of the XID catalogue among those of DCGM's codes; the lowest wins."""
    return next(rank for rank, a in enumerate(dcgm_error_table().actions) if action in a.xid)


def verdict_of(codes: Collection[int], text: str, *, gpu: str, node: str) -> DcgmVerdict | None:
    """The code that decides; None where the table explains none. A fault goes before a test that did not run, as does a code that the table does not list."""
    found = explained_errors(codes)
    if not found or (all(e.untested for e in found) and len(found) < len(set(codes))):
        return None
    decides = min(found, key=lambda e: (e.untested, _rank(e, text), e.id))
    return DcgmVerdict(decides, _action_text(decides, text).format(gpu=gpu, node=node), _xid_of(decides, text))


def error_titles(codes: Iterable[int]) -> str:
    """`DCGM_FR_FAULTY_MEMORY (52)`; a code that the table does not have is named as such."""
    return ", ".join(f"{_by_id()[c].name} ({c})" if c in _by_id() else f"unknown error {c} of DCGM" for c in codes)


def _rank(error: DcgmError, text: str) -> int:
    xid = _xid_of(error, text)
    return _ranks()[error.action] if xid is None else rank_of_xid(xid_action(xid)[0])


def _action_text(error: DcgmError, text: str) -> str:
    xid = _xid_of(error, text)
    if xid is None:
        return dcgm_error_table().actions[_ranks()[error.action]].text
    action, hint = xid_action(xid)
    return f"XID {xid}: {hint or dcgm_error_table().actions[rank_of_xid(action)].text}"


def _xid_of(error: DcgmError, text: str) -> int | None:
    found = _XID.search(text) if error.action == _AS_XID else None
    return int(found.group(1)) if found else None
