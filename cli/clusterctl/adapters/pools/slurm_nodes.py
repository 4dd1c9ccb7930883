"""Reads `scontrol --oneliner show node`: the one form that every release of Slurm prints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.core.timestamps import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator

# a drain without a reason: scontrol demands one of people, so the node requested it when it registered
DYNAMIC = "DYNAMIC_NORM"
_HELD = frozenset({"DRAIN", "FAIL", "DOWN"})
_UNUSABLE = frozenset({"UNKNOWN", "FUTURE", "ERROR", "INVALID_REG"})
# NODE_STATE_* of slurm/slurm.h: base states, which have not changed for years; and flags that have a state of above in their name and do not hold a node.
_BASES = frozenset({"DOWN", "UNKNOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE"})
_HARMLESS = frozenset({"POWER_DOWN", "POWERED_DOWN", "POWERING_DOWN", "POWER_DRAIN", "DYNAMIC_FUTURE", "UNDRAIN"})
_IN_USE = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
_REBOOTS = frozenset({"REBOOT_REQUESTED", "REBOOT_ISSUED"})
_SILENT = frozenset({"UNKNOWN", "NOT_RESPONDING"})
# what slurmctld itself writes about a node that was away: a state, nobody's decision
_BOOTED = "Node unexpectedly rebooted"
_OF_SLURM = ("Not responding", _BOOTED)
_NAME = re.compile(r"NodeName=(\S+) ")
# more fields follow a state: one that ends the line was cut off, and `IDLE` may have been `IDLE+DRAIN`
_FIELD = re.compile(r" (AvailableFeatures|ActiveFeatures|Partitions|BootTime|NextState|ResumeAfterTime|State(?==\S* ))=(\S*)")
# "?" is a flag unknown to scontrol, because slurmctld is newer
_STATE = re.compile(r"[A-Z_]*|\?")
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
# fields whose values hold anything; they come last, and a comment may look like a reason
_TEXTS = re.compile(r" (?=(?:Reason|Comment|Extra|InstanceId|InstanceType)=)")
# names of users may have spaces; a reason of slurm.conf has neither writer nor time (node_conf.c)
_STAMPED = re.compile(rf"Reason=(?P<text>.*?) \[[^\[\]]+@(?P<at>{_TIME})\](?: |$)")
_PLAIN = re.compile(rf"Reason=(?P<text>.*?)(?:{_TEXTS.pattern}|$)")
# printed as they are, of as many lines as they have
_FREE_TEXT = re.compile(r" (?:Comment|Extra)=")
# what slurmctld appends to the reason of a node that is already out (set_node_reason, 23.02 and later; read in its source, not confirmed on a running one)
_APPENDED = re.compile(r"(?<=\S)(?: : (?:Not responding|ResumeTimeout reached|reboot (?:issued|complete|timed out)))+$")
# what it writes about a node that registers with less than slurm.conf has; from 23.02 on it replaces whatever reason the node had (validate_node_specs)
_LESS = (
    r"(?:gres/\S+ count (?:reported lower than configured|too low|changed and jobs are using them) \(\d+ (?:<|!=) \d+\)"
    r"|gres/\S+ type (?:changed and jobs are using them|\(\S+\) reported but not configured)"
    r"|Low (?:RealMemory(?: \(reported:[^()]*\))?|CPUs|TmpDisk|socket\*core\*thread count)|CoreSpec differ|Could not unpack gres data)"
)
_REGISTERED_LESS = re.compile(f"{_LESS}(?:, {_LESS})*")
# "idle*" is the old form of IDLE+NOT_RESPONDING; the other marks do not keep jobs away
_MARKS = "~#!%$@^-+"


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A node as slurmctld has it.

    Attributes:
        states: the base state and its flags.
        reason: why it is out, with whoever wrote it and what slurmctld appended cut off; empty = none is given.
        changed_at: when the reason was written (`clusterctl.adapters.clock`); empty = never.
        features: those it has, and which of them are active.
        next_state: what a reboot by Slurm that is under way ends in; empty = none is, or it changes nothing.
        returns_at: when Slurm returns it to service if it is out then; empty = not requested.
        booted_at: when it booted, by the clock of slurmctld, which subtracts the uptime that slurmd reports when it registers; empty = it never did.
    """

    name: str
    states: frozenset[str]
    partitions: frozenset[str] = frozenset()
    reason: str = ""
    changed_at: str = ""
    features: tuple[str, ...] = ()
    active_features: tuple[str, ...] = ()
    next_state: str = ""
    returns_at: str = ""
    booted_at: str = ""

    @property
    def takes_jobs(self) -> bool:
        """Whether new jobs start on it. One that is not answering, or that Slurm returns, counts: they start without anybody's decision."""
        returns = self.returns_rebooted or self.returns_timed or self.returns_powered_down
        return returns or not self.states & (_HELD | _UNUSABLE)

    @property
    def returns_rebooted(self) -> bool:
        """Whether Slurm reboots it and then ends every drain, whoever set it: `scontrol reboot` with ASAP or `nextstate=RESUME`."""
        return bool(self.states & _REBOOTS and self.next_state) and not self.next_state.startswith("DOWN")

    @property
    def returns_timed(self) -> bool:
        """Whether Slurm ends every drain of it at a time, whoever set it: `scontrol update state=drain resumeafter=SECONDS` (23.02 and later)."""
        return bool(self.states & _HELD and self.returns_at)

    @property
    def returns_powered_down(self) -> bool:
        """Whether Slurm powers it down when it is idle, and ends every drain then: it would be powered up for the next job."""
        return "POWER_DOWN" in self.states and not self.states & (_HELD - {"DRAIN"})

    @property
    def is_in_use(self) -> bool:
        """Whether jobs hold it, or end on it."""
        return bool(self.states & _IN_USE)

    @property
    def is_held(self) -> bool:
        """Whether it stays out until somebody resumes it."""
        return bool(self.states & _HELD)

    @property
    def is_silent(self) -> bool:
        """Whether its slurmd does not answer."""
        return bool(self.states & _SILENT)

    @property
    def is_away(self) -> bool:
        """Whether slurmctld itself took it out, because it was away: it may come back without anybody's decision."""
        return "DRAIN" not in self.states and self.reason.startswith(_OF_SLURM)

    @property
    def is_out_for_its_boot(self) -> bool:
        """Whether slurmctld took it out because it booted without anybody's request, and its slurmd answers again."""
        return "DOWN" in self.states and not self.is_silent and self.is_away and self.reason.startswith(_BOOTED)

    @property
    def registered_less(self) -> bool:
        """Whether slurmctld drained it because it registered with less than slurm.conf has: a measurement, nobody's decision."""
        return "DRAIN" in self.states and _REGISTERED_LESS.fullmatch(self.reason) is not None

    @property
    def is_invalid(self) -> bool:
        """Whether its newest registration has less than slurm.conf. Slurm ends this itself, and not the drain."""
        return "INVALID_REG" in self.states


def parse_nodes(text: str) -> tuple[SlurmNode, ...]:
    """The nodes of `scontrol --oneliner show node`, printed with TZ=UTC and SLURM_TIME_FORMAT=standard.

    Raises:
        ValueError: a line is not a node.
    """
    return tuple(_node(line) for line in _records(text) if not line.startswith("No nodes"))


def _records(text: str) -> Iterator[str]:
    """The first line of each node: what follows a comment up to the next node belongs to it, and all that a pool needs stands before."""
    last = ""
    for line in text.split("\n"):
        if not line.strip() or (_FREE_TEXT.search(last) and not _NAME.match(line)):
            continue
        yield line
        last = line


def _node(line: str) -> SlurmNode:
    name = _NAME.match(line)
    head, *texts = _TEXTS.split(line, maxsplit=1)
    fields: dict[str, str] = {}
    for found in _FIELD.finditer(head):
        fields.setdefault(found[1], found[2])
    if name is None or "State" not in fields:
        raise ValueError(f"not a node of Slurm: {line[:80]!r}")
    reason, changed_at = _reason(texts[0] if texts else "")
    return SlurmNode(
        name[1],
        _states(fields["State"]),
        frozenset(_words(fields.get("Partitions", ""))),
        reason,
        changed_at,
        _words(fields.get("AvailableFeatures", "")),
        _words(fields.get("ActiveFeatures", "")),
        fields.get("NextState", ""),
        _moment(fields.get("ResumeAfterTime", "")),
        _moment(fields.get("BootTime", "")),
    )


def _reason(texts: str) -> tuple[str, str]:
    """The reason without what slurmctld appended, and when it was written."""
    found = _STAMPED.match(texts) or _PLAIN.match(texts)
    return (_APPENDED.sub("", found["text"]), _moment(found.groupdict().get("at", ""))) if found else ("", "")


def _moment(text: str) -> str:
    """A time of Slurm as `clusterctl.adapters.clock` has it; empty = none."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC).strftime(FORMAT) if re.fullmatch(_TIME, text) else ""


def _states(text: str) -> frozenset[str]:
    words = [word.strip(_MARKS) for word in text.upper().replace("*", "+NOT_RESPONDING").split("+")]
    known = _BASES | _HELD | _UNUSABLE | _HARMLESS
    garbled = [word for word in words if word not in known and any(out in word for out in _HELD | _UNUSABLE)]
    if words[0] not in _BASES or garbled or not all(map(_STATE.fullmatch, words)):
        raise ValueError(f"not a state of Slurm: {text[:80]!r}")
    return frozenset(filter(None, words))


def _words(text: str) -> tuple[str, ...]:
    return tuple(w for w in text.split(",") if w and w != "(null)")
