"""training_proxy: all GPUs of a group train a small model together, and once more from a checkpoint after a rank was killed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from clusterctl.core.gates.group_gate import GroupGate, GroupSettings
from clusterctl.core.gates.judging.direction import LOWER_IS_BETTER
from clusterctl.core.gates.judging.limits import compare_with_limits
from clusterctl.core.gates.judging.missing_evidence import hint_for, with_hint
from clusterctl.core.gates.judging.training_outputs import absent_nodes, ranks_output, read_partial_training, waited_for, waited_text
from clusterctl.core.gates.judging.training_runs import TrainingGroup, confirmed, figures, loss_text, training_faults
from clusterctl.core.gates.planning.group_steps import ALL, MEMBER, REST, OwnCommand, counting_for, of_run, rung_of, step_beside
from clusterctl.core.gates.planning.step import GateSteps, Obstacle
from clusterctl.core.gates.settings import Seconds  # noqa: TC001 pydantic evaluates the annotations
from clusterctl.core.parsers.training_proxy import METRICS, UNIT
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations
from clusterctl_tools import training_proxy as tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.core.gates.judging.training_runs import TrainingFault
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import RawRecord
    from clusterctl_tools.training_proxy import NodePart, TrainingRun

_LAST_PORT = 65535 - tool.STARTS + 1
_AGAIN = "then `clusterctl burnin {node} --partners NODE --level full --gates training_proxy`"
_MEASURE = "measure it by itself first: `clusterctl burnin {node} --level full --gates torch_gemm,gpu_stress`, and read its XIDs in the kernel log; "
_SLOW = "compare compute_time with communication_time: the first is of the GPUs, the second of the network (nccl_group)"
_REASONS = {
    tool.NO_TORCH: GateReason.NOT_INSTALLED,
    tool.FAILED: GateReason.TOOL_FAILED,
    tool.ALONE: GateReason.PEER_SILENT,
    tool.PORT_TAKEN: GateReason.PORT_TAKEN,
    tool.HANGS: GateReason.TIMED_OUT,
}
_Percent = Annotated[float, Field(gt=0, lt=100)]
_VariableName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]


class TrainingProxySettings(GroupSettings):
    """What all ranks do, and what is expected. `search` has no meaning here: what singles out a rank names it at once.

    Attributes:
        port: the first of three TCP ports of the first node, at which the ranks of the three starts meet. PyTorch's store has no password.
        program: a Python interpreter that has PyTorch with NCCL, on all nodes.
        environment: variables for the ranks, `NCCL_*` above all.
        width, layers: of the transformer, with 12 x layers x width^2 weights and a few more: 103 million by default, whose gradients are 411 MB a step.
            They and `batch` are chosen so that a step waits for the GPU and not for Python, which starts its kernels: on an H100 it took 54 ms within 1.5 %,
            at 196 TFLOPS (docs/hardware-notes.md). With half the width, 4 layers and 4096 tokens it took 24 ms within 13 %, at 57 TFLOPS.
        sequence, batch: tokens of a sequence, and sequences of a rank in each step.
        steps: the first tenth counts for no time. Assumed: no public source states how many show a rank that is slow.
        loss_falls_percent: by which the mean loss of the last tenth of all steps must be below that of the first tenth. Assumed; the default model fell by
            a third in 40 steps with one sequence of 256 a step (PyTorch 2.13 on a CPU).
        slower_percent: above the median of equal GPUs, of the median time that a rank computes in a step. Assumed: good GPUs of a model differ by 9 %.
        suspect_percent: the same for a warning, on the node of the rank; 7 % as among other peers. Both count only where a rank is far outside of the
            spread of the others, so GPUs that differ by binning are not suspected.
        kill_rank: the ranks start again from a checkpoint, the last one kills itself, and all resume from the checkpoint. Takes as long again.
        resume_tolerance: share by which a loss after the checkpoint may differ from that without a restart. On CPUs there is no difference, nor was there
            between two ranks on an H100; with more of them NCCL may add in another order after it has connected anew, and bfloat16 has 8 bits. Assumed.
        meet_s: how long ranks wait for each other at each start.
    """

    port: Annotated[int, Field(ge=1024, le=_LAST_PORT)] = 18700
    program: Annotated[str, Field(min_length=1)] = tool.INTERPRETER
    environment: dict[_VariableName, str] = {}
    width: Annotated[int, Field(ge=64, le=16384, multiple_of=64)] = 2048
    layers: Annotated[int, Field(ge=1, le=128)] = 2
    sequence: Annotated[int, Field(ge=8, le=8192)] = 512
    batch: Annotated[int, Field(ge=1, le=1024)] = 32
    steps: Annotated[int, Field(ge=20, le=500)] = 100
    loss_falls_percent: _Percent = 10.0
    slower_percent: _Percent = 15.0
    suspect_percent: _Percent = 7.0
    kill_rank: bool = True
    resume_tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.01
    meet_s: Seconds = 120
    timeout_s: Annotated[int, Field(ge=60, le=86400)] | dict[Level, Annotated[int, Field(ge=60, le=86400)]] = 900


class TrainingProxy(GroupGate[TrainingProxySettings]):
    """Passes when the loss is finite and falls, all ranks have equal losses and weights, none computes longer than its equals, and a killed run resumes."""

    name = "training_proxy"
    settings_model = TrainingProxySettings
    tool = "training_proxy"
    units: ClassVar[Mapping[str, str]] = dict.fromkeys(METRICS, UNIT)
    direction = LOWER_IS_BETTER
    # What is right or wrong needs none; no public source states how long a step of this model takes.
    needs_floor = False
    default_levels = ("full",)
    actions: ClassVar[Mapping[GateReason, str]] = {
        GateReason.PORT_TAKEN: "end what listens there on {node}, or set gates_settings.training_proxy.port to the first of three free ports; "
        + _AGAIN,
        GateReason.TOOL_FAILED: _MEASURE + "the errors of its ranks are in the run directory; " + _AGAIN,
        GateReason.TIMED_OUT: _MEASURE + _AGAIN,
        GateReason.LOSS_NOT_FINITE: _MEASURE + _AGAIN,
        GateReason.RANKS_DIFFER: _MEASURE + _AGAIN,
        GateReason.RANK_SLOW: _MEASURE + "look at its clocks, power and PCIe link, and at what else runs on its CPUs; " + _AGAIN,
        GateReason.LOSS_NOT_FALLING: "compare with half of the nodes; where those learn, the rest is at fault, and where none do, compare the version of PyTorch; "
        + _AGAIN,
        GateReason.RESUME_DIFFERS: "run it once more with kill_rank: where the difference is another one, the sums of NCCL change from run to run; "
        + _AGAIN,
    }

    def argv(self, settings: TrainingProxySettings, level: Level, members: Sequence[Subject]) -> tuple[str, ...]:
        """Of the first member."""
        return self._argv(settings, level, members, next(iter(parts_of(members).values())))

    def _argv(self, settings: TrainingProxySettings, level: Level, members: Sequence[Subject], part: NodePart) -> tuple[str, ...]:
        s = settings
        load = tool.TrainingLoad(s.width, s.layers, s.sequence, s.batch, s.steps, s.kill_rank, s.meet_s, self.limit_s(s, level, members))
        return tuple(tool.training_argv(members[0].address, s.port, part, load, interpreter=s.program, environment=s.environment))

    def version_argv(self, settings: TrainingProxySettings) -> tuple[str, ...]:
        """Of PyTorch."""
        return tuple(tool.version_argv(settings.program))

    def plan_rung(self, subjects: Sequence[Subject], level: Level, batches: Iterator[int], rung: str) -> GateSteps:
        """All nodes that have GPUs together; at full width only, and once more without those that spoiled it."""
        members = [s for s in subjects if s.gpus]
        if rung != ALL and (rung != REST or len(members) == 1):
            return GateSteps({})
        none = {s.name: Obstacle(GateReason.NO_DEVICE, "hardware_gpus declares no GPU") for s in subjects if not s.gpus}
        if len(members) == 1:
            return GateSteps({}, {**none, members[0].name: self._alone(members[0], "")})
        if not members:
            return GateSteps({}, none)
        batch, settings, parts = next(batches), members[0].profile.settings_of(self), parts_of(members)
        limit_s, version = self.limit_s(settings, level, members), self.version_argv(settings)
        steps = {}
        for number, member in enumerate(members):
            argv = self._argv(settings, level, members, parts[member.name])
            command = OwnCommand(argv, limit_s, version, rung="" if rung == ALL else rung)
            steps[member.name] = (step_beside(self, members, number, command, batch),)
        return GateSteps(steps, none, self._rendezvous(members[0]))

    def plan_search(self, subjects: Sequence[Subject], evidence: Evidence, batches: Iterator[int], rung: str, number: int) -> GateSteps:  # noqa: ARG002 nobody is searched for
        """None: a rank that is singled out is named at once, and the others train again without its node."""
        return GateSteps({})

    def judge(self, evidence: Evidence) -> tuple[GateResult, ...]:
        """What the group shows: of the ranks that stand out, on their nodes; of all others, what they show without those."""
        judged = {s.name for s in evidence.judged}
        leads = [r for r in evidence.records if r.peers and set(r.peers) <= set(evidence.subjects)]
        shown = [(r, lead) for lead, names in counting_for(leads) for r in self._judged_run(evidence, lead) if r.node in names]
        again = [r for r, lead in shown if rung_of(lead) == REST]
        found = (r if rung_of(lead) == REST else confirmed(r, again) for r, lead in shown)
        return tuple(with_hint(self, r) for r in found if r.node in judged)

    def _judged_run(self, evidence: Evidence, lead: RawRecord) -> Sequence[GateResult]:
        records = {r.node: r for r in evidence.records if r is lead or of_run(r, lead, MEMBER)}
        settings = evidence.subjects[lead.node].profile.settings_of(self)
        parts = parts_of([evidence.subjects[name] for name in lead.peers])
        outputs: dict[str, TrainingRun] = {}
        missing: dict[str, GateResult] = {}
        for name in lead.peers:
            found = ranks_output(self, records.get(name), parts[name], steps=settings.steps, kill_rank=settings.kill_rank)
            if isinstance(found, GateResult):
                missing[name] = replace(found, node=name, peers=lead.peers)
            else:
                outputs[name] = found
        if missing:
            return self._not_whole(lead, records, missing, parts)
        blank = GateResult(self.name, lead.node, Outcome.PASS, "training", simulated=lead.simulated)
        samples = {name: self.samples(records[name].stdout) for name in outputs}
        falls, slower = settings.loss_falls_percent / 100, settings.slower_percent / 100
        group = TrainingGroup(blank, outputs, samples, falls, slower, settings.suspect_percent / 100, settings.resume_tolerance)
        return self._of_group(evidence, lead, group)

    def _of_group(self, evidence: Evidence, lead: RawRecord, group: TrainingGroup) -> list[GateResult]:
        """Each fault on the nodes of its ranks, for the others it is spoiled; each limit, once for each node; a pass of the training where it has no fault."""
        nodes, found_faults = len(lead.peers), training_faults(group)
        warnings = [fault for fault in found_faults if fault.result.outcome is Outcome.WARN]
        faults = [fault for fault in found_faults if fault not in warnings]
        found = compare_with_limits(
            self.name, lead.node, tuple(figures(group)), self.limits_of(evidence.subjects[lead.node], nodes), nodes=nodes
        )
        verdicts = [r for r in found if r.reason is not GateReason.NO_BASELINE]
        if not faults:
            times = ", ".join(f"{s.metric} {s.value:.4g}" for s in figures(group))
            verdicts.append(replace(group.blank, found=loss_text(group), detail=f"{loss_text(group)}; longest of all ranks, ms: {times}"))
        suspects = tuple(dict.fromkeys(name for fault in faults for name in fault.nodes))
        results = [r for fault in faults for r in self._of_fault(lead, fault, suspects)]
        results += [self._for_member(lead, r.node, r, ()) for fault in warnings for r in fault.of_ranks]
        return [*results, *(self._for_member(lead, name, verdict, ()) for verdict in verdicts for name in lead.peers)]

    def _of_fault(self, lead: RawRecord, fault: TrainingFault, suspects: Sequence[str]) -> Iterator[GateResult]:
        """Of each of its ranks; of the nodes that no fault names, that those spoiled it, or as it is where no node is named."""
        yield from (self._for_member(lead, r.node, r, ()) for r in fault.of_ranks)
        for name in (n for n in lead.peers if n not in suspects):
            result = self._for_member(lead, name, fault.result, ())
            yield self._spoiled(result, suspects, lead) if suspects else result

    def _spoiled(self, result: GateResult, suspects: Sequence[str], lead: RawRecord) -> GateResult:
        return replace(result, reason=GateReason.GROUP_SPOILED, hint=self._without(suspects, lead.peers))

    def _not_whole(
        self, lead: RawRecord, records: Mapping[str, RawRecord], missing: Mapping[str, GateResult], parts: Mapping[str, NodePart]
    ) -> list[GateResult]:
        """The results of a training that ended early: of a node with a reason of its own, that; of all others that the group is not whole, or was spoiled."""
        partly = {name: run for name in lead.peers if (run := read_partial_training(records.get(name)))}
        behind = waited_for(partly)
        absent = {name for run in partly.values() for name in absent_nodes(run, parts)}
        text = waited_text(behind) or (f"{', '.join(sorted(absent))} did not come" if absent else "")
        own = [name for name, r in missing.items() if r.reason is not GateReason.PEER_SILENT]
        suspects = sorted({name for name, _ in behind} or own or absent)
        ranks = {name: [f"gpu{place.gpu}" for other, place in behind if other == name] for name in suspects}
        results = []
        for name in lead.peers:
            incomplete = f"the group is not whole: {', '.join(missing)} has no whole result"
            blank = GateResult(
                self.name, name, Outcome.COULD_NOT_RUN, "complete", peers=lead.peers, detail=incomplete, reason=GateReason.PEER_SILENT
            )
            result = missing.get(name, replace(blank, simulated=lead.simulated))
            detail = f"{result.detail}; {text}" if text else result.detail
            device = ranks[name][0] if len(ranks.get(name, ())) == 1 else ""
            result = replace(result, detail=detail, device=device)
            results.append(self._spoiled(result, suspects, lead) if suspects and name not in suspects else result)
        return results

    def hint(self, result: GateResult) -> str:
        """Of a rank that is suspected, or of a time that is above its limit."""
        if result.reason in self.actions:
            return hint_for(self, result.reason, result.node)
        return f"{_SLOW}; {_AGAIN}".format(node=result.node)

    def failure_reason(self, record: RawRecord) -> GateReason:
        """By its exit status."""
        return _REASONS.get(record.exit_status or 0, GateReason.EXIT_STATUS)

    def last_line(self, record: RawRecord) -> str:
        """What ended it, and the first error of a rank."""
        run = read_partial_training(record)
        if run is None:
            return super().last_line(record)
        return ": ".join(filter(None, (run.detail, *(e.error for e in run.errors[:1])))) or super().last_line(record)

    def usual_s(self, settings: TrainingProxySettings, level: Level) -> float:  # noqa: ARG002 the same at all levels and settings
        """Two nodes with one GPU each took 114 s (docs/hardware-notes.md). Assumed: where eight ranks import PyTorch at once it takes longer."""
        return 300.0

    def not_proven(self, settings: TrainingProxySettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """The model is small."""
        return "that a large model trains, with other parallelism and with data from storage"


def parts_of(members: Sequence[Subject]) -> dict[str, NodePart]:
    """Node -> its part: one rank per GPU, in the order of the members."""
    world, first, parts = sum(m.gpus for m in members), 0, {}
    for number, member in enumerate(members):
        parts[member.name] = tool.NodePart(number, len(members), first, member.gpus, world)
        first += member.gpus
    return parts


GATE = TrainingProxy()
