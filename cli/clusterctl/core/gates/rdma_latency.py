"""rdma_latency: the time of small RDMA messages between every two nodes, rail by rail, by perftest: what bandwidth does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from clusterctl.core.gates.judging.direction import LOWER_IS_BETTER
from clusterctl.core.gates.perftest_gate import PerftestGate, PerftestSettings, side_argv
from clusterctl.core.gates.settings import at_level
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.planning.step import ServerPlace
    from clusterctl.model.gate_result import Sample

# perftest takes its 99.9 % from as many, and leaves out the slowest two (LAT_MEASURE_TAIL in perftest_parameters.h).
Iterations = Annotated[int, Field(ge=1000, le=10_000_000)]


class RdmaLatencySettings(PerftestSettings):
    """perftest's latency tests: a message there and one back, half of that is the latency (`rtt_factor` in perftest_parameters.c; a read is whole).

    Attributes:
        size_bytes: of a message; 2 is perftest's own default, up to 220 go with the request of a write (DEF_INLINE_WRITE in perftest_parameters.h).
        iterations: of one turn. With `-D` in their place perftest prints no median. 10,000 are those of OCI's check.
    """

    test: Literal["ib_write_lat", "ib_send_lat", "ib_read_lat"] = "ib_write_lat"
    size_bytes: Annotated[int, Field(gt=0, le=220)] = 2
    iterations: Iterations | dict[Level, Iterations] = {"quick": 10_000, "standard": 10_000, "full": 1_000_000}
    base_port: Annotated[int, Field(ge=1024, le=60000)] = 30514


class RdmaLatency(PerftestGate[RdmaLatencySettings]):
    """Passes when the median of every HCA's messages is within the upper limit with its partners."""

    name = "rdma_latency"
    settings_model = RdmaLatencySettings
    direction = LOWER_IS_BETTER
    default_levels = ("full",)
    metric = "latency_typical"
    shown_beside = "latency_p99"
    beside_label = "99 % within"
    units: ClassVar[Mapping[str, str]] = {metric: "us", shown_beside: "us"}
    two_of_three = True
    # Assumed, wider than those of bandwidth: light needs 5 ns for a metre, so a node whose cables are 50 m longer reads 0.25 us more, 9 % of 2.8.
    peers_fail: ClassVar[tuple[float, float]] = (-6.0, 0.3)
    peers_warn: ClassVar[tuple[float, float]] = (-3.5, 0.15)
    decimals = 2

    def argv(self, settings: RdmaLatencySettings, level: Level, hca: Hca, server: ServerPlace) -> tuple[str, ...]:
        """One side of a perftest run."""
        return side_argv(settings, hca, ("-n", str(at_level(settings.iterations, level)), "-F"), server)

    def samples(self, text: str) -> tuple[Sample, ...]:
        """As perftest's, if its clock ran.

        Raises:
            UnparsableError: it is incomplete, or a latency is zero.
        """
        found = super().samples(text)
        if any(sample.metric == self.metric and sample.value <= 0 for sample in found):
            raise UnparsableError(tool=self.tool, reason="it reports a latency of 0 us")
        return found

    def slow_hint(self, hca: Hca, values: Sequence[float], again: str) -> str:  # noqa: ARG002 the same for any latency
        """First what raises latency and leaves bandwidth, then the way."""
        return (
            f"compare the PCIe settings of {hca.name} (`lspci -vvv`: ASPM, MaxReadReq, the switches above it), its firmware settings (`mlxconfig`) and the "
            f"corrected errors of its cable on port {hca.rail + 1} with an HCA that is within its limit, then the route of its rail; then `{again}`"
        )

    def node_hint(self, node: str) -> str:
        """The processor and its settings."""
        return (
            f"compare C-states (`cpupower idle-info`), clock governor, IOMMU and the power profile of the BIOS of {node} with an equal node"
        )

    def usual_s(self, settings: RdmaLatencySettings, level: Level) -> float:
        """A turn of messages of 6 us, and its start."""
        return 6e-6 * at_level(settings.iterations, level) + 5.0

    def not_proven(self, settings: RdmaLatencySettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """All pairs send small messages."""
        return "latency under load, and that of the memory of GPUs"


GATE = RdmaLatency()
