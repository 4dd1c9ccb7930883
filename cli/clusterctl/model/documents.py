"""The machine-readable results whose JSON schemas are generated from these classes (`scripts/document_schemas.py`)."""

from __future__ import annotations

from dataclasses import dataclass, field

# Pydantic reads the annotations when the schemas are generated.
from clusterctl.model.bmc_report import AccountCheck, Console, LogEntry, Protocol, Sensor  # noqa: TC001
from clusterctl.model.node_log import NodeLog  # noqa: TC001
from clusterctl.model.notice import NoticeState  # noqa: TC001
from clusterctl.model.power import PowerOutcome  # noqa: TC001
from clusterctl.model.queue_documents import CurrentRunsDocument, QueuedDocument
from clusterctl.model.run_comparison import ComparisonDocument
from clusterctl.model.site_documents import (
    BaselinesDocument,
    DoctorDocument,
    MeasuredBaselinesDocument,
    ProfileCheckDocument,
    ProfileDocument,
    ProfilesDocument,
    ToolsDocument,
)
from clusterctl.model.state_documents import (
    AdmitDocument,
    AdmitVerifyDocument,
    AnsiblePlanDocument,
    DrainDocument,
    ForgetDocument,
    ProvisionPlanDocument,
    ReleaseDocument,
)
from clusterctl.model.trouble import LemonAction  # noqa: TC001
from clusterctl.model.trouble_counts import TroubleCounts  # noqa: TC001


@dataclass(frozen=True, slots=True)
class PowerNode:
    """One node.

    Attributes:
        name: the node.
        outcome: how the action ended.
        power: `on`, `off` or `unknown`, as its BMC reports it.
        reachable: whether SSH to it works.
        uptime_s: seconds since it booted; null if it is not reachable.
        boot_id: of its kernel; null if it is not reachable.
        serial: of the machine.
        detail: why the action failed, or was not tried.
    """

    name: str
    outcome: PowerOutcome
    power: str
    reachable: bool
    uptime_s: float | None
    boot_id: str | None
    serial: str
    detail: str


@dataclass(frozen=True, slots=True)
class PowerDocument:
    """clusterctl power TARGET -o json."""

    action: str
    run_id: str
    nodes: tuple[PowerNode, ...]


@dataclass(frozen=True, slots=True)
class FormerPart:
    """A part that was at the same place before; `replaced_in` is the run that first found another one."""

    serial: str
    first_run: str
    replaced_in: str


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """A part as last seen.

    Attributes:
        kind: gpu, nic, nvswitch, nvme, dimm, cpu, system, baseboard or chassis.
        slot: its place in the machine: a PCI address or a locator.
        first_run: the run that found it first.
    """

    kind: str
    slot: str
    name: str
    model: str
    serial: str
    first_run: str
    first_seen: str
    last_seen: str
    before: tuple[FormerPart, ...]


@dataclass(frozen=True, slots=True)
class NodeWithParts:
    """A node; without a recorded part, `parts` is empty."""

    name: str
    parts: tuple[RecordedPart, ...]


@dataclass(frozen=True, slots=True)
class PartsDocument:
    """clusterctl inventory TARGET --parts -o json."""

    nodes: tuple[NodeWithParts, ...]


@dataclass(frozen=True, slots=True)
class UnreadBmc:
    """A node whose BMC could not be read, and why."""

    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class ReadBmc:
    """What the BMC of a node reports.

    Attributes:
        bmc_versions: firmware of the BMC, by its name.
        tls_verified: whether the certificate of its TLS connection was verified.
        ipmi_over_lan: null if the BMC does not report it; the same for the next two.
        redfish_without_account: whether Redfish lists its systems to requests without an account; null if that was not queried, or the answer shows neither.
        accounts: the result of an attempted change with a read-only account; null if it was not requested or could not be attempted.
        missing: section -> why it, or a part of it, could not be read.
    """

    name: str
    problem: str
    power: str
    manufacturer: str
    model: str
    serial: str
    bios_version: str
    bmc_versions: dict[str, str]
    tls_verified: bool
    ipmi_over_lan: bool | None
    http_without_tls: bool | None
    redfish_without_account: bool | None
    serial_console: bool | None
    protocols: tuple[Protocol, ...] = ()
    consoles: tuple[Console, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    log: tuple[LogEntry, ...] = ()
    accounts: AccountCheck | None = None
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BmcDocument:
    """clusterctl bmc TARGET -o json."""

    nodes: tuple[ReadBmc | UnreadBmc, ...]


@dataclass(frozen=True, slots=True)
class LogsDocument:
    """clusterctl logs TARGET -o json.

    Attributes:
        journal: of all programs; false: what the kernel logged.
        since_s, until_s: from and to how many seconds before now, by the clock of each node.
        lines: at most so many entries of each node.
    """

    journal: bool
    since_s: int
    until_s: int
    lines: int
    nodes: tuple[NodeLog, ...]


@dataclass(frozen=True, slots=True)
class SerialDocument:
    """What is recorded against one machine or part in the last 90 days.

    Attributes:
        serial: empty for a node of which no serial is recorded.
        kind: gpu, nic, nvswitch, nvme, dimm, cpu, system, baseboard or chassis; `node` without a serial.
        node: where the newest event was.
        name: of the part there; for a machine the node.
        score: the largest of count / limit over kinds and windows.
        over_limit: whether the score has reached 1.
        next_action: `full`: a burn-in of level full before it serves again; `rma`: back to the vendor.
        last_at: of the newest event.
    """

    serial: str
    kind: str
    node: str
    name: str
    model: str
    score: float
    over_limit: bool
    days_30: TroubleCounts
    days_90: TroubleCounts
    next_action: LemonAction
    last_at: str


@dataclass(frozen=True, slots=True)
class LemonsDocument:
    """clusterctl history --worst -o json.

    Attributes:
        found: how many serials have an event; `serials` lists the worst of them.
        limits: for 30 days; over 90 days twice as many; 0 = none.
    """

    found: int
    limits: TroubleCounts
    serials: tuple[SerialDocument, ...]


@dataclass(frozen=True, slots=True)
class ObservedItem:
    """A check or a rule of a gate that is observed and does not decide.

    Attributes:
        name: id of the check, or the gate.
        rule: of the gate; empty for a check.
        nodes: on how many nodes it was seen.
        runs: how often it was seen, over all nodes.
        failed: in how many of these it failed.
        could_not_run: in how many of these it could not run.
        repeated: failures after which it was seen again on the same node, with no repair in between.
        contradicted: those of `repeated` in which the repeat passed.
        flake_rate: contradicted / repeated; null without a repeat.
    """

    name: str
    rule: str
    nodes: int
    runs: int
    failed: int
    could_not_run: int
    repeated: int
    contradicted: int
    flake_rate: float | None


@dataclass(frozen=True, slots=True)
class ObservedDocument:
    """clusterctl history --observed -o json.

    Attributes:
        days: how far back.
        found: how many items were seen; `items` lists those that failed most.
    """

    days: int
    found: int
    items: tuple[ObservedItem, ...]


@dataclass(frozen=True, slots=True)
class ListedNotice:
    """A notice of planned maintenance, as its newest change left it.

    Attributes:
        id: names the notice.
        state: planned, moved or cancelled.
        target: as typed.
        nodes: what the target selected then, by name.
        begins_at: UTC, ISO 8601; so is the end.
        reason: of the work; of a cancelled one, why it is cancelled.
        operator: who changed it last.
        changed_at: when.
    """

    id: int
    state: NoticeState
    target: str
    nodes: tuple[str, ...]
    begins_at: str
    ends_at: str
    reason: str
    operator: str
    changed_at: str


@dataclass(frozen=True, slots=True)
class NoticesDocument:
    """clusterctl announce -o json."""

    notices: tuple[ListedNotice, ...]


DOCUMENTS: dict[str, type[object]] = {
    "admit": AdmitDocument,
    "admit_verify": AdmitVerifyDocument,
    "baselines": BaselinesDocument,
    "baselines_measured": MeasuredBaselinesDocument,
    "bmc": BmcDocument,
    "comparison": ComparisonDocument,
    "doctor": DoctorDocument,
    "drain": DrainDocument,
    "forget": ForgetDocument,
    "lemons": LemonsDocument,
    "logs": LogsDocument,
    "notices": NoticesDocument,
    "observed": ObservedDocument,
    "parts": PartsDocument,
    "plan_ansible": AnsiblePlanDocument,
    "power": PowerDocument,
    "profile": ProfileDocument,
    "profile_check": ProfileCheckDocument,
    "profiles": ProfilesDocument,
    "provision-plan": ProvisionPlanDocument,
    "queued": QueuedDocument,
    "release": ReleaseDocument,
    "runs": CurrentRunsDocument,
    "tools": ToolsDocument,
}
