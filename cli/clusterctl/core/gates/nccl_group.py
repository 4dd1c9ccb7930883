"""nccl_group: a collective over all GPUs of all nodes; over NVLink, of the nodes of each NVLink domain."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from clusterctl.core.gates import nccl_failures, nccl_rules
from clusterctl.core.gates.group_gate import GroupGate, GroupSettings
from clusterctl.core.gates.judging.limits import applicable, floors
from clusterctl.core.gates.judging.missing_evidence import hint_for
from clusterctl.core.gates.mpi_options import mpi_hosts, mpi_options
from clusterctl.core.gates.nccl_proof import LOG_VARIABLE, Proof, is_by_rank, log_file, logs_of, other_networks
from clusterctl.core.gates.nccl_rules import NCCL_ACTIONS, NcclSettings
from clusterctl.core.gates.nccl_variants import (
    DEFAULT_VARIANTS,
    NcclVariant,
    VariantName,
    declared_name,
    hca_of_run,
    left_out_text,
    limits_for,
    names_on_rail,
    samples_for,
    variant_runs,
)
from clusterctl.core.gates.planning.group_steps import AFTER, ALL, of_run, variant_of
from clusterctl.model.gate_reason import NOT_MEASURED, GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.judging.group_runs import GroupRun
    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import Baseline, RawRecord
    from clusterctl.model.level import Level

_LEAST_NODES = 2
# Assumed: MPI starts its daemons and NCCL connects within this time.
_START_S = 120
# Assumed: a run that takes so many times as long as at its floor hangs. It is evidence only beside another one that ended in time.
_HANGS_AFTER = 10
_LONGEST_S = 86400
_ONE_NAME = "name the adapters of a rail alike on all nodes (`ofed_device_names` and `ofed_device_addresses` of the role ofed), or measure nodes with equal names together"
_UNEXPLAINED = frozenset({GateReason.EXIT_STATUS, GateReason.TOOL_FAILED, GateReason.TIMED_OUT})


class NcclGroupSettings(GroupSettings, NcclSettings):
    """All nodes together, started by mpirun from one of them; over NVLink (`require_transport: P2P/MNNVL`) those of each NVLink domain.

    A variant with `across_domains` joins the nodes of all NVLink domains on the rungs that hold several.

    Attributes:
        require_gdr: every network channel must use GPUDirect RDMA.
        sharp: channels to switches that reduce (`COLLNET/SHARP`) are `refused` as a replacement of the required ones, `accepted`, or
            `required` of the plain run.
        mpi_arguments: further words for mpirun. A parameter (`--mca NAME VALUE`) replaces that of the gate.
        slowdown: how many times slower than its floor a run may be before it is cut off; one over TCP should end, and be judged by its
            transport. Assumed: one port of 25 Gb/s carries 3 GB/s, a hundredth of a floor of 300.
        rungs: the groups that are measured, in this order, each over the nodes that passed the one before. One that would measure
            the same groups as the next, or none of at least two nodes, is left out. The last is always `all`.
        variants: further runs on each rung, by name. One without a floor (metric `busbw_<name>`) is judged by its results and its transport.
    """

    require_transport: str = "NET/IB"
    require_gdr: bool = True
    sharp: nccl_rules.SharpUse = "refused"
    mpi_arguments: list[str] = []
    slowdown: Annotated[int, Field(gt=0, le=1000)] = 100
    rungs: list[Literal["pair", "leaf", "rack", "scalable_unit", "all"]] = ["rack", "all"]
    variants: dict[VariantName, NcclVariant] = DEFAULT_VARIANTS

    @property
    def network(self) -> nccl_rules.NetworkRules:
        """What is required of channels over the network."""
        return nccl_rules.NetworkRules(self.require_gdr, self.sharp)

    @property
    def over_nvlink(self) -> bool:
        """The nodes of a group are joined by NVLink."""
        return self.require_transport == nccl_rules.OVER_NVLINK


class NcclGroup(GroupGate[NcclGroupSettings]):
    """Passes when `#wrong` is 0, the transport is the declared one (GPUDirect on the network), and the bandwidth reaches the floor."""

    name = "nccl_group"
    settings_model = NcclGroupSettings
    tool = "nccl_tests"
    installed_by = "gpu_tools"
    actions = NCCL_ACTIONS
    units = nccl_rules.UNITS
    default_levels = ("standard", "full")
    reads_stderr = True
    member_argv = ("orted",)
    after_argv = ("python3", "rank_log.py", log_file("", "*"))

    def argv(self, settings: NcclGroupSettings, level: Level, members: Sequence[Subject]) -> tuple[str, ...]:
        """One process per GPU, ranks in the order of the members."""
        return self.variant_argv(settings, level, members, "")

    def variant_argv(self, settings: NcclGroupSettings, level: Level, members: Sequence[Subject], variant: str) -> tuple[str, ...]:
        """The same for every variant, but for the environment."""
        ranks = sum(m.gpus for m in members)
        variables = {**settings.variables, LOG_VARIABLE: log_file(variant)}
        hosts = mpi_hosts([m.address for m in members], [m.gpus for m in members])
        exported = (word for name, value in variables.items() for word in ("-x", f"{name}={value}"))
        mpi = ("mpirun", "--allow-run-as-root", "-np", str(ranks), "--host", hosts, "--bind-to", "numa")
        return (
            *mpi,
            *mpi_options(len(members), settings.mpi_arguments),
            *settings.mpi_arguments,
            *exported,
            *settings.test_argv(level),
            "-g",
            "1",
        )

    def variants(self, subject: Subject) -> Mapping[str, NcclGroupSettings]:
        """The plain run, then the declared ones."""
        settings = subject.profile.settings_of(self)
        others = settings.model_copy(update={"sharp": "accepted"}) if settings.sharp == "required" else settings
        alone = others.model_copy(update={"require_gdr": False})
        runs = variant_runs(settings.variants, subject.hcas)
        return {"": settings, **{name: v.applied_to(alone if v.each_adapter else others) for name, v in runs.items()}}

    def device_of(self, subject: Subject, variant: str) -> str:
        """The adapter that a run is over."""
        return hca_of_run(variant, subject.hcas)

    def measured_at(self, settings: NcclGroupSettings, variant: str, level: Level) -> bool:
        """Those that name the level, and the plain run."""
        declared = settings.variants.get(declared_name(variant))
        return declared is None or level in declared.levels

    def after_variant(self, variant: str) -> tuple[str, ...]:
        """The logs of this variant."""
        return (*self.after_argv[:-1], log_file(variant, "*"))

    def limit_s(self, settings: NcclGroupSettings, level: Level, members: Sequence[Subject]) -> int:
        """The greater of timeout_s and start + slowdown * (the test's time at the floor); see `NcclSettings.seconds_at`."""
        declared, at_floor_s = super().limit_s(settings, level, members), self._at_floor_s(settings, level, members)
        return declared if at_floor_s is None else min(max(declared, _START_S + math.ceil(settings.slowdown * at_floor_s)), _LONGEST_S)

    def search_limit_s(self, settings: NcclGroupSettings, level: Level, members: Sequence[Subject]) -> int:
        """Start + 10 times the test's time at the floor: a group that hangs takes all of it, on every level of a search."""
        limit_s, at_floor_s = self.limit_s(settings, level, members), self._at_floor_s(settings, level, members)
        return limit_s if at_floor_s is None else min(limit_s, _START_S + math.ceil(_HANGS_AFTER * at_floor_s))

    def _at_floor_s(self, settings: NcclGroupSettings, level: Level, members: Sequence[Subject]) -> float | None:
        lower = floors(applicable(self.limits_of(members[0], len(members)), len(members)))
        slowest = min((b.limit for b in lower if b.metric == "busbw" and b.op in ("", settings.collective) and b.limit > 0), default=None)
        return None if slowest is None else settings.seconds_at(slowest, level)

    def version_argv(self, settings: NcclGroupSettings) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """Of nccl-tests."""
        return nccl_rules.VERSION_ARGV

    def version_of(self, record: RawRecord) -> str:
        """Of nccl-tests and NCCL."""
        return nccl_rules.version_in(record)

    def group_of(self, subject: Subject, variant: str) -> str:
        """The NVLink domain, where NVLink joins the nodes and the variant does not cross it."""
        settings = subject.profile.settings_of(self)
        return subject.node.place.domain if settings.over_nvlink and not self._crosses(subject, variant) else ""

    def shows_something(self, group: Sequence[Subject], variant: str) -> bool:
        """Between domains, there have to be several; over one adapter, it must have one name on all nodes, as all get the same variables."""
        if len(names_on_rail(variant, {s.name: s.hcas for s in group})) > 1:
            return False
        several = len({s.node.place.domain for s in group}) > 1
        return len(group) > 1 and (several or not self._crosses(group[0], variant))

    def left_out(self, run: GroupRun, level: Level) -> Iterator[GateResult]:
        """The rails whose adapter has several names in the group, so that no run over it alone was planned."""
        having = {s.name: self._variants_at(s, level) for s in run.members}
        for variant in dict.fromkeys(v for own in having.values() for v in own):
            names = names_on_rail(variant, {s.name: s.hcas for s in run.members if variant in having[s.name]})
            blank = GateResult(
                self.name,
                "",
                Outcome.NOT_APPLICABLE,
                "coverage",
                reason=GateReason.NOT_COVERED,
                expected="one name on all nodes",
                detail=left_out_text(variant, names),
                hint=_ONE_NAME,
            )
            for name, nodes in names.items() if len(names) > 1 else ():
                yield from (replace(blank, node=node, device=name, found=name) for node in nodes)

    def _crosses(self, subject: Subject, variant: str) -> bool:
        declared = subject.profile.settings_of(self).variants.get(declared_name(variant))
        return declared is not None and declared.across_domains

    def nvlink_groups(self, groups: Sequence[Sequence[Subject]]) -> Mapping[str, tuple[str, ...]]:
        """Those whose first node's profile is measured over NVLink."""
        joined = [g for g in groups if g[0].profile.settings_of(self).over_nvlink]
        return {member.name: tuple(m.address for m in g) for g in joined for member in g}

    def verdicts(self, members: Sequence[Subject], record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """The rules of NCCL, and the number of ranks that took part."""
        lead = members[0]
        variant = variant_of(record)
        settings = self._settings_of(lead, variant)
        name = declared_name(variant)
        limits = limits_for(self.limits_of(lead, len(record.peers)), len(record.peers), name, settings.variants)
        reading = replace(reading, samples=samples_for(reading.samples, name))
        by_rank = is_by_rank(record)
        found = nccl_rules.nccl_verdicts(lead, record, reading, settings, limits, network=settings.network, by_rank=by_rank)
        known = len(members) == len(record.peers)
        return (*found, *nccl_rules.rank_verdicts(lead, record, reading, sum(m.gpus for m in members) if known else 0))

    def rungs(self, subjects: Sequence[Subject], level: Level) -> tuple[str, ...]:
        """Those of the first node's profile that measure other groups than the next."""
        chosen = [r for r in dict.fromkeys(subjects[0].profile.settings_of(self).rungs if subjects else ()) if r != ALL]
        kept: tuple[str, ...] = (ALL,)
        for rung in reversed(chosen):
            groups, following = (self._names(subjects, r, level) for r in (rung, kept[0]))
            kept = (rung, *kept) if groups and groups != following else kept
        return kept

    def with_evidence(self, run: RawRecord, evidence: Evidence) -> RawRecord:
        """With NCCL's warnings, which are in the logs of the ranks."""
        records = self._rank_records(run, evidence) if is_by_rank(run) else {}
        warnings = [line for name in sorted(records) for log in logs_of(records[name]) for line in log.warnings]
        return replace(run, stderr="\n".join([run.stderr, *warnings])) if warnings else run

    def proofs(self, run: RawRecord, evidence: Evidence, *, finished: bool) -> Mapping[str, GateResult]:
        """The transport of each node."""
        members = [evidence.subjects[n] for n in run.peers if n in evidence.subjects]
        if not is_by_rank(run):
            return {}
        records = self._rank_records(run, evidence)
        ranks = sum(m.gpus for m in members) if len(members) == len(run.peers) else 0
        settings = self._settings_of(evidence.subjects[run.node], variant_of(run))
        proof = Proof(run, ranks, finished)
        found = {m.name: proof.of_node(m, records.get(m.name), settings, settings.network) for m in members}
        apart = {} if finished else other_networks({m.name: logs_of(records.get(m.name)) for m in members})
        found |= {m.name: proof.on_other_network(m, *apart[m.name]) for m in members if m.name in apart}
        return {n: replace(r, hint=hint_for(self, r.reason, n)) if r.reason in NOT_MEASURED else r for n, r in found.items()}

    def _rank_records(self, run: RawRecord, evidence: Evidence) -> Mapping[str, RawRecord]:
        return {r.node: r for r in evidence.records if of_run(r, run, AFTER)}

    def _settings_of(self, subject: Subject, variant: str) -> NcclGroupSettings:
        return self.variants(subject).get(variant, subject.profile.settings_of(self))

    def _names(self, subjects: Sequence[Subject], rung: str, level: Level) -> set[tuple[str, ...]]:
        """Each variant with its groups."""
        together = [g for g in self.groups_of(subjects, rung).values() if len(g) > 1]
        runs = self._runs_of(together, subjects, rung, level)
        return {(variant, *(s.name for s in group)) for variant, groups in runs.items() for group in groups}

    def last_line(self, record: RawRecord) -> str:
        """The warning that names the reason, where NCCL printed one."""
        return nccl_failures.main_warning(record) or super().last_line(record)

    def failure_reason(self, record: RawRecord) -> GateReason:
        """From NCCL's warnings."""
        return nccl_failures.failure_reason(record)

    def hint(self, result: GateResult) -> str:
        """By the rule that did not pass."""
        return nccl_rules.nccl_hint(result)

    def culprit_hint(self, result: GateResult) -> str:
        """For an adapter that fails alone; where NCCL ended with an error over all adapters, how to find which it is."""
        if result.device:
            return nccl_rules.ADAPTER_HINT.format(device=result.device, node=result.node)
        others = ",".join(name for name in result.peers if name != result.node)
        return nccl_rules.ONE_BY_ONE_HINT.format(node=result.node, others=others) if result.reason in _UNEXPLAINED else ""

    def line_rate(self, baseline: Baseline, settings: NcclGroupSettings, hcas: Sequence[Hca], gpus: int) -> float | None:
        """The bus bandwidth that the HCAs of a node carry; no limit over NVLink.

        The HCAs of a node carry busbw * (k-1)/(n-1) per GPU when each node reduces inside first (k nodes, n GPUs), so
        busbw <= rate * (n-1)/(k-1); without a number of nodes, it takes the fewest it holds for, the most lenient case.
        """
        if settings.over_nvlink or not hcas or baseline.unit != "GB/s" or gpus <= 0:
            return None
        nodes = max(baseline.nodes or baseline.nodes_min or _LEAST_NODES, _LEAST_NODES)
        per_gpu = sum(h.rate_gbps for h in hcas) / 8 / gpus
        return per_gpu * (nodes * gpus - 1) / (nodes - 1)

    def highest(self, baseline: Baseline, settings: NcclGroupSettings, hcas: Sequence[Hca], gpus: int) -> float | None:
        """Twice what the HCAs of a node carry: with switches that reduce (SHARP), each byte crosses an HCA once instead of twice."""
        if self.line_rate(baseline, settings, hcas, gpus) is None:
            return None
        return 2 * sum(h.rate_gbps for h in hcas) / 8

    def usual_s(self, settings: NcclGroupSettings, level: Level) -> float:  # noqa: ARG002 the same at all levels and settings
        """Assumed for one run."""
        return 120.0

    def not_proven(self, settings: NcclGroupSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """What runs is in its variants."""
        return "larger groups than this one, and collectives and sizes without a floor"


GATE = NcclGroup()
