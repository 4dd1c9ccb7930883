"""rdma_pair: RDMA bandwidth between every two nodes, rail by rail, by perftest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from clusterctl.core.gates.pair_gate import PairGate, PairSettings
from clusterctl.core.gates.settings import Count, Seconds, at_level
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.level import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.model.gate_result import Baseline, RawRecord, Sample

# As perftest prints it, on a client whose server does not listen.
_NO_SERVER = "Couldn't connect"
# What write_bw.c of perftest prints where the other side ends before the run does.
_PEER_ENDED = "Failed to exchange data between server and clients"
# A cable trained at half its lanes or half its speed reads about one half.
_HALF = (0.4, 0.6)


class RdmaPairSettings(PairSettings):
    """perftest between every two nodes, rail by rail.

    Attributes:
        duration_s: of one turn; perftest leaves out the first and the last quarter of it (`margin` in perftest_parameters.c).
        qps: queue pairs of one run.
        gid_index, traffic_class: for RoCE.
    """

    test: Literal["ib_write_bw", "ib_send_bw", "ib_read_bw"] = "ib_write_bw"
    size_bytes: Annotated[int, Field(gt=0)] = 8388608
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 5, "standard": 5, "full": 15}
    qps: Annotated[int, Field(gt=0, le=64)] = 4
    gid_index: Count | None = None
    traffic_class: Annotated[int, Field(ge=0, le=255)] | None = None


class RdmaPair(PairGate[RdmaPairSettings]):
    """Passes when every HCA reaches the floor with its partners."""

    name = "rdma_pair"
    settings_model = RdmaPairSettings
    tool = "perftest"
    installed_by = "gpu_tools"
    metric = "bandwidth_average"
    units: ClassVar[Mapping[str, str]] = {"bandwidth_average": "Gb/s", "bandwidth_peak": "Gb/s"}
    default_levels = LEVELS

    def argv(self, settings: RdmaPairSettings, level: Level, hca: Hca, port: int, server: str) -> tuple[str, ...]:
        """One side of a perftest run."""
        words = [settings.test, "-d", hca.name, "-p", str(port), "-s", str(settings.size_bytes), "-q", str(settings.qps)]
        words += ["-D", str(at_level(settings.duration_s, level)), "-F", "--report_gbits"]
        if settings.gid_index is not None:
            words += ["-x", str(settings.gid_index)]
        if settings.traffic_class is not None:
            words += ["--tclass", str(settings.traffic_class)]
        return (*words, server) if server else tuple(words)

    def version_argv(self, settings: RdmaPairSettings) -> tuple[str, ...]:
        """Of the test that runs."""
        return (settings.test, "--version")

    def operation(self, settings: RdmaPairSettings) -> str:
        """The test's own name."""
        return settings.test

    def is_planned(self, settings: RdmaPairSettings, device: str, sample: Sample) -> bool:
        """Perftest prints its operation, the message size and the device; an output without them lost its beginning."""
        return (sample.op, sample.size_bytes, sample.device) == (self.operation(settings), settings.size_bytes, device)

    def slow_hint(self, hca: Hca, values: Sequence[float], again: str) -> str:
        """The cable, by its port on the node."""
        half = any(_HALF[0] < value / hca.rate_gbps < _HALF[1] for value in values)
        what = "it runs at half its rate: see" if half else "see"
        return f"{what} rate and width in `ibstat {hca.name}`, reseat or replace the cable on port {hca.rail + 1}, then `{again}`"

    def failure_reason(self, record: RawRecord) -> GateReason:
        """A side that finds no other one, or loses it, learns nothing about its own link."""
        output = self.output_of(record) + record.stderr
        if _NO_SERVER in output:
            return GateReason.SERVER_SILENT
        return GateReason.PEER_ENDED if _PEER_ENDED in output else GateReason.EXIT_STATUS

    def line_rate(self, baseline: Baseline, settings: RdmaPairSettings, hcas: Sequence[Hca], gpus: int) -> float | None:  # noqa: ARG002
        """The rate of the slowest HCA."""
        return min((h.rate_gbps for h in hcas), default=None) if baseline.unit == "Gb/s" else None


GATE = RdmaPair()
