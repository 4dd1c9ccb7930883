"""nccl_node: a collective over all GPUs of one node, in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates import nccl_failures, nccl_rules
from clusterctl.core.gates.nccl_rules import MNNVL_VARIABLE, NCCL_ACTIONS, NcclSettings
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.planning.devices import gpu_joins_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Figure
from clusterctl.model.level import LEVELS
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.judging.reading import Reading
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord
    from clusterctl.model.level import Level


class NcclNodeSettings(NcclSettings):
    """All GPUs of one node, in one process.

    Attributes:
        require_transport: where the profile sets none, any for GPUs without NVLink (`hardware_gpu_nvlinks: 0`).
        forbid_transport: where the profile sets none, without SHM for GPUs that no NVSwitch joins (`hardware_gpu_fabric: false`): between two processors NCCL
            takes shared memory then (NVIDIA/nccl issue 1358, L4).
    """

    require_transport: str = "P2P"
    forbid_transport: list[str] = ["NET/Socket", "SHM"]

    def for_gpus(self, links: int | None, *, switched: bool) -> NcclNodeSettings:
        """What counts for GPUs with so many NVLinks; None = as if all were joined."""
        if links is None or switched:
            return self
        others = {"forbid_transport": ["NET/Socket"], **({} if links else {"require_transport": ""})}
        return self.model_copy(update={name: value for name, value in others.items() if name not in self.model_fields_set})

    @property
    def variables(self) -> Mapping[str, str]:
        """Without the NVLink of a rack: with NCCL_MNNVL_ENABLE=1, as /etc/nccl.conf may have it, NCCL requires IMEX on one node, too (src/init.cc)."""
        return {MNNVL_VARIABLE: "0", **super().variables}


class NcclNode(NodeGate[NcclNodeSettings]):
    """Passes when `#wrong` is 0, the channels are NVLink where there is one, all GPUs took part, and the bandwidth reaches the floor."""

    name = "nccl_node"
    settings_model = NcclNodeSettings
    tool = "nccl_tests"
    installed_by = "gpu_tools"
    actions = NCCL_ACTIONS
    units = nccl_rules.UNITS
    default_levels = LEVELS
    reads_stderr = True

    def argv(self, settings: NcclNodeSettings, level: Level, subject: Subject) -> tuple[str, ...]:
        """One process for all GPUs."""
        variables = (f"{name}={value}" for name, value in settings.variables.items())
        return ("env", *variables, *settings.test_argv(level), "-g", str(subject.gpus))

    def version_argv(self, settings: NcclNodeSettings) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """Of nccl-tests."""
        return nccl_rules.VERSION_ARGV

    def version_of(self, record: RawRecord) -> str:
        """Of nccl-tests and NCCL."""
        return nccl_rules.version_in(record)

    def verdicts(self, subject: Subject, record: RawRecord, reading: Reading) -> Sequence[GateResult]:
        """The rules of NCCL, and the number of GPUs that took part."""
        links, switched = gpu_joins_of(subject.node)
        settings = subject.profile.settings_of(self).for_gpus(links, switched=switched)
        found = nccl_rules.nccl_verdicts(subject, record, reading, settings, self.limits_of(subject, 1))
        ranks = nccl_rules.rank_verdicts(subject, record, reading, subject.gpus)
        whole = not ranks and all(r.outcome in GOOD or r.reason is GateReason.NO_BASELINE for r in found)
        samples = nccl_rules.both_halves(record, reading) if whole else ()
        return (*found, *ranks, *self.not_limited(subject, samples, self.limits_of(subject, 1)))

    def limited_figures(self, settings: NcclNodeSettings) -> tuple[Figure, ...]:
        """The bus bandwidth at the size that is measured."""
        return (Figure(self.name, "busbw", self.units["busbw"], settings.collective, settings.size_bytes),)

    def last_line(self, record: RawRecord) -> str:
        """The warning that names the reason, where NCCL printed one."""
        return nccl_failures.main_warning(record) or super().last_line(record)

    def failure_reason(self, record: RawRecord) -> GateReason:
        """From NCCL's warnings."""
        return nccl_failures.failure_reason(record)

    def hint(self, result: GateResult) -> str:
        """By the rule that did not pass."""
        return nccl_rules.nccl_hint(result)

    def usual_s(self, settings: NcclNodeSettings, level: Level) -> float:  # noqa: ARG002 the same at all levels and settings
        """Assumed."""
        return 60.0

    def not_proven(self, settings: NcclNodeSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """One node."""
        return "the network, and collectives other than the one that it runs"


GATE = NcclNode()
