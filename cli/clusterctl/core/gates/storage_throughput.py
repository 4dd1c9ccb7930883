"""storage_throughput: all nodes write, read and lock files at the same time on the file systems that they share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from clusterctl.core.gates.group_gate import GroupGate, GroupSettings
from clusterctl.core.gates.judging.limits import compare_with_limits, limit_text
from clusterctl.core.gates.judging.missing_evidence import with_hint
from clusterctl.core.gates.judging.storage_clients import slow_clients
from clusterctl.core.gates.judging.storage_outputs import node_output, node_samples, read_partly
from clusterctl.core.gates.judging.storage_runs import StorageGroup, group_faults, group_samples, spread_text, wrong_contents
from clusterctl.core.gates.planning.group_steps import ALL, MEMBER, REST, OwnCommand, counting_for, of_run, step_beside, variant_of
from clusterctl.core.gates.planning.shared_mounts import SharedMount, shared_mounts_of
from clusterctl.core.gates.planning.step import GateStep, GateSteps
from clusterctl.core.gates.settings import Seconds, at_level
from clusterctl.core.parsers.storage_throughput import (
    BANDWIDTH_UNIT,
    FILE_RATES,
    RATE_UNIT,
    READ,
    SEEN,
    WRITE,
)
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import storage_throughput as tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl_tools.storage_throughput import StorageRun

# No word of it is `.` or `..`, which leads out of the mount.
_WORD = r"\.?[A-Za-z0-9_-][A-Za-z0-9._-]*"
_FOLDER = f"^{_WORD}(/{_WORD})*$"
_AGAIN = "then `clusterctl burnin {node} --partners NODE --level full --gates storage_throughput`"
_SLOW = "compare with fewer nodes: what half of them reach and all do not is limited by the server, its slots or its network"
_SLOW_CLIENT = "compare mount options (`nconnect`, `rsize`, `wsize`, the server's address), adapter, MTU and route of {node} with a node that is not slow"
_WRONG = "save nothing on this file system until it is explained: read the kernel log of {node} and that of the server, compare client versions and mount options with a node that read right"
_HINTS: Mapping[GateReason | None, str] = {GateReason.WRONG_CONTENT: _WRONG, GateReason.BELOW_PEERS: _SLOW_CLIENT}
_NO_MOUNTS = "no file system that nodes share is declared to be mounted: storage_client_mounts has none that is required and writable"
_REASONS = {
    tool.NOT_MOUNTED: GateReason.NOT_MOUNTED,
    tool.IO_ERROR: GateReason.IO_ERROR,
    tool.ALONE: GateReason.PEER_SILENT,
    tool.NO_SPACE: GateReason.NO_SPACE,
}


# Write, read, read another's, make, look at, remove, query.
_PARTS = 7
# The program keeps 40 s of its limit for its end.
_EndSeconds = Annotated[int, Field(ge=60, le=86400)]


class StorageThroughputSettings(GroupSettings):
    """What each node does on each shared mount. `search` has no meaning here: no node is looked for.

    Attributes:
        mounts: names of `storage_client_mounts`; empty = all of a shared kind (not `generic`) that are required and not read-only.
        folder: below the mount, made by root of the first node that comes; one that root of all nodes may write.
        files: written at the same time, each by a thread of its own, and read back, as the ranks of a node do with a checkpoint.
        file_mib: of each, so a node writes `files` x `file_mib`. Assumed: more than a client's share of a server's cache of writes.
        small_files: of 4 KiB, made, looked at and removed one after the other.
        asks: how many writes the next node must answer.
        seen_s: within what a write and its answer, which is a write, too, must both be seen; then each was.
        slower_percent: below the median of at least four nodes, of what one writes or reads, for a warning on it; it counts only far outside of the spread of
            the others. Assumed: no public source states how evenly a server treats equal clients.
        phase_s: a phase ends then, with what was done.
        timeout_s: for start, flushing and end, on top of `phase_s` for each part of a phase.
    """

    mounts: list[str] = []
    folder: Annotated[str, Field(pattern=_FOLDER)] = ".clusterctl-burnin"
    files: Annotated[int, Field(ge=1, le=64)] = 8
    file_mib: Annotated[int, Field(ge=tool.BLOCK_MIB, le=1 << 20, multiple_of=tool.BLOCK_MIB)] = 256
    small_files: Annotated[int, Field(ge=1, le=100_000)] = 1000
    asks: Annotated[int, Field(ge=1, le=1000)] = 10
    seen_s: Annotated[float, Field(gt=0, le=tool.NEVER_S)] = 1.0
    slower_percent: Annotated[float, Field(gt=0, lt=100)] = 30.0
    phase_s: Seconds = 60
    timeout_s: _EndSeconds | dict[Level, _EndSeconds] = 300


class StorageThroughput(GroupGate[StorageThroughputSettings]):
    """Passes when every node reads what it wrote, locks exclude, writes are seen in time, and the group reaches its floors where some are declared."""

    name = "storage_throughput"
    settings_model = StorageThroughputSettings
    tool = "storage_throughput"
    default_levels = ("full",)
    units: ClassVar[Mapping[str, str]] = {
        WRITE: BANDWIDTH_UNIT,
        READ: BANDWIDTH_UNIT,
        **dict.fromkeys(FILE_RATES.values(), RATE_UNIT),
    }
    # What is right or wrong needs none; no public source states how fast a file system must be.
    needs_floor = False
    actions: ClassVar[Mapping[GateReason, str]] = {
        GateReason.NOT_MOUNTED: "mount it: `clusterctl provision {node}`, `clusterctl validate {node}`; nothing was written; " + _AGAIN,
        GateReason.NO_SPACE: "free space, or set gates_settings.storage_throughput.file_mib lower; nothing was written; " + _AGAIN,
        GateReason.IO_ERROR: "look at the error: EACCES and EPERM are permissions of gates_settings.storage_throughput.folder (root of a node may be nobody on the server), "
        "ENOLCK, ENOSYS and EOPNOTSUPP locks that the mount does not offer; EIO and ESTALE are in the kernel logs of client and server; "
        + _AGAIN,
        GateReason.CONTENT_DIFFERS: "save nothing on this file system until it is explained: caches of clients and server that differ; compare client versions and mount options; "
        + _AGAIN,
        GateReason.LOCK_HELD_TWICE: "the mount keeps locks to itself: look for `local_lock`, `nolock` and `localflock` in /proc/mounts; "
        + _AGAIN,
        GateReason.LOCK_NOT_GRANTED: "look at the lock service of the server (for NFSv3: rpc.statd and its ports); " + _AGAIN,
        GateReason.WRITE_NOT_SEEN: "look for `nocto` and long `actimeo` in /proc/mounts, then at the load of the server; " + _AGAIN,
    }

    def argv(self, settings: StorageThroughputSettings, level: Level, members: Sequence[Subject]) -> tuple[str, ...]:
        """Of the first member, on its first mount."""
        mount = self._mounts(members[0])[0]
        return self._argv(settings, level, mount, mount, (0, len(members)))

    def _argv(
        self, settings: StorageThroughputSettings, level: Level, mount: SharedMount, shared: SharedMount, place: tuple[int, int]
    ) -> tuple[str, ...]:
        limit_s = self.limit_s(settings, level, ())
        load = tool.StorageLoad(
            settings.folder, settings.files, settings.file_mib, settings.small_files, settings.asks, settings.phase_s, limit_s
        )
        return tuple(tool.storage_argv(mount.path, shared.source, *place, load))

    def limit_s(self, settings: StorageThroughputSettings, level: Level, members: Sequence[Subject]) -> int:  # noqa: ARG002 the same for any number
        """Of one file system."""
        return at_level(settings.timeout_s, level) + _PARTS * settings.phase_s

    def plan_rung(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int], rung: str) -> GateSteps:
        """All nodes that share a file system, one file system after the other; at full width only, and once more without those that spoiled it."""
        if rung not in (ALL, REST):
            return GateSteps({})
        steps: dict[str, tuple[GateStep, ...]] = {}
        alone: dict[str, Subject] = {}
        for sharing in self._sharing(subjects).values():
            alone |= {s.name: s for s, _ in sharing if len(sharing) == 1}
            if len(sharing) > 1:
                batch = next(batches)
                for number, (subject, _) in enumerate(sharing):
                    step = self._step(sharing, number, level, batch, "" if rung == ALL else rung)
                    steps[subject.name] = (*steps.get(subject.name, ()), step)
        obstacles = {name: self._alone(s, "this file system") for name, s in alone.items() if name not in steps and rung == ALL}
        return GateSteps(steps, obstacles, self._rendezvous(subjects[0]) if steps else None)

    def plan_search(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int], rung: str, number: int) -> GateSteps:  # noqa: ARG002 nobody is searched for
        """None: what shows at full width belongs to the file system."""
        return GateSteps({})

    def _sharing(self, subjects: Sequence[Subject]) -> Mapping[str, Sequence[tuple[Subject, SharedMount]]]:
        """Source -> the nodes that mount it, each with its mount."""
        found: dict[str, list[tuple[Subject, SharedMount]]] = {}
        for subject in subjects:
            for mount in self._mounts(subject):
                found.setdefault(mount.source, []).append((subject, mount))
        return found

    def _mounts(self, subject: Subject) -> tuple[SharedMount, ...]:
        return shared_mounts_of(subject.node, subject.profile.settings_of(self).mounts)

    def _step(self, sharing: Sequence[tuple[Subject, SharedMount]], number: int, level: Level, batch: int, rung: str) -> GateStep:
        """The first node waits for all others, and they for it; the program itself makes them begin together."""
        (lead, shared), (_, mount) = sharing[0], sharing[number]
        settings = lead.profile.settings_of(self)
        argv = self._argv(settings, level, mount, shared, (number, len(sharing)))
        command = OwnCommand(argv, self.limit_s(settings, level, ()), variant=shared.source, device=mount.path, rung=rung)
        return step_beside(self, [s for s, _ in sharing], number, command, batch)

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """What belongs to a node, and what to the group; a declared file system that was not measured is not a pass."""
        results: list[GateResult] = []
        for lead, names in counting_for([r for r in evidence.records if r.peers and r.node in evidence.subjects]):
            results += (r for r in self._judged_run(evidence, lead) if r.node in names)
        measured = {(r.node, r.device) for r in evidence.records}
        taking = {node for node, _ in measured}
        for subject in evidence.judged:
            mounts = self._mounts(subject)
            blank = GateResult(self.name, subject.name, Outcome.COULD_NOT_RUN, "complete", reason=GateReason.NO_EVIDENCE)
            if not mounts and subject.name not in taking:
                results.append(
                    replace(blank, outcome=Outcome.NOT_APPLICABLE, rule="mounts", reason=GateReason.NOT_COVERED, detail=_NO_MOUNTS)
                )
            left = [m.path for m in mounts if subject.name in taking and (subject.name, m.path) not in measured]
            results += [
                replace(blank, device=path, detail=f"nothing was measured on {path}: no other node of the run mounts it") for path in left
            ]
        judged = {s.name for s in evidence.judged}
        return tuple(with_hint(self, r) for r in results if r.node in judged)

    def _judged_run(self, evidence: Evidence, lead: RawRecord) -> Sequence[GateResult]:
        """The results of all nodes of one run."""
        records = {r.node: r for r in evidence.records if r is lead or of_run(r, lead, MEMBER)}
        settings = evidence.subjects[lead.node].profile.settings_of(self)
        outputs: dict[str, StorageRun] = {}
        missing: dict[str, GateResult] = {}
        for number, name in enumerate(lead.peers):
            found = node_output(self, records.get(name), lead, number, settings.asks)
            if isinstance(found, GateResult):
                missing[name] = replace(found, node=name, peers=lead.peers, device=records[name].device if name in records else lead.device)
            else:
                outputs[name] = found
        mount = next((m.name for m in self._mounts(evidence.subjects[lead.node]) if m.source == variant_of(lead)), "")
        blank = GateResult(self.name, "", Outcome.PASS, "rates", device=lead.device, op=mount, simulated=lead.simulated)
        group = StorageGroup(blank, outputs, {n: node_samples(records[n]) for n in outputs}, settings.seen_s)
        # A wrong block counts also where a node did not go to its end.
        partly = {name: run for name in missing if name in records and (run := read_partly(records[name]))}
        wrong = wrong_contents(replace(group, outputs={**outputs, **partly}))
        if missing:
            own = tuple(name for name, r in missing.items() if name in wrong or r.reason is not GateReason.PEER_SILENT)
            waited = replace(blank, outcome=Outcome.COULD_NOT_RUN, hint=self._without(own, lead.peers) if own else "", peers=lead.peers)
            rest = [self._incomplete(replace(waited, node=name), tuple(missing)) for name in outputs]
            waiting = [replace(r, hint=waited.hint) if r.reason is GateReason.PEER_SILENT else r for r in (*missing.values(), *rest)]
            every = [replace(r, reason=GateReason.GROUP_SPOILED) if own and r.reason is GateReason.PEER_SILENT else r for r in waiting]
            return [*wrong.values(), *(r for r in every if r.node not in wrong)]
        return [*wrong.values(), *self._of_group(evidence, lead, group)]

    def _incomplete(self, blank: GateResult, missing: Sequence[str]) -> GateResult:
        """Of a node whose own part is whole, in a group that is not."""
        detail = f"the group is not whole: {', '.join(missing)} has no whole result"
        return replace(blank, rule="complete", detail=detail, reason=GateReason.PEER_SILENT)

    def _of_group(self, evidence: Evidence, lead: RawRecord, group: StorageGroup) -> Iterator[GateResult]:
        """What a group shares, once for each of its nodes, and what one of them does more slowly than the others."""
        faults = group_faults(group)
        figures = () if any(f.reason is GateReason.IO_ERROR for f in faults) else tuple(self._figures(evidence, lead, group))
        for name in lead.peers:
            for verdict in (*faults, *figures):
                yield self._for_member(lead, name, verdict, ())
        if not faults:
            slower = evidence.subjects[lead.node].profile.settings_of(self).slower_percent / 100
            yield from (self._for_member(lead, r.node, r, ()) for r in slow_clients(group, slower))

    def _figures(self, evidence: Evidence, lead: RawRecord, group: StorageGroup) -> Iterator[GateResult]:
        """Each figure against its limits; one without any is shown."""
        samples, nodes = group_samples(group), len(lead.peers)
        limits = self.limits_of(evidence.subjects[lead.node], nodes)
        # A round trip has a limit of its own, and that is not a floor.
        rates = [s for s in samples if s.metric != SEEN]
        found = compare_with_limits(self.name, lead.node, rates, limits, nodes=nodes)
        compared = [r for r in found if r.reason is not GateReason.NO_BASELINE and r.op in ("", group.blank.op)]
        for result in compared:
            yield replace(result, device=lead.device, detail=result.detail or spread_text(group, result.metric))
        for sample in (s for s in samples if s.metric not in {r.metric for r in compared}):
            text = f"{limit_text(sample.value)} {sample.unit}" if sample.value >= 1 else f"{sample.value:.3g} {sample.unit}"
            shown = replace(group.blank, metric=sample.metric, value=sample.value, unit=sample.unit, found=text)
            yield replace(shown, detail=spread_text(group, sample.metric))

    def failure_reason(self, record: RawRecord) -> GateReason:
        """By its exit status."""
        return _REASONS.get(record.exit_status or 0, GateReason.EXIT_STATUS)

    def last_line(self, record: RawRecord) -> str:
        """What ended it, without the JSON around it."""
        run = read_partly(record)
        return run.detail if run and run.detail else super().last_line(record)

    def hint(self, result: GateResult) -> str:
        """By what was found."""
        return f"{_HINTS.get(result.reason, _SLOW)}; {_AGAIN}".format(node=result.node)

    def usual_s(self, settings: StorageThroughputSettings, level: Level) -> float:  # noqa: ARG002 the same at all levels and settings
        """At most, for one file system."""
        return 720.0

    def not_proven(self, settings: StorageThroughputSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """A server may answer from its cache."""
        return "that the disks of a server are fast, random access, and what happens when a server fails"


GATE = StorageThroughput()
