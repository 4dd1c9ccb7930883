"""rdma_pair: RDMA bandwidth between every two nodes, rail by rail, by perftest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from clusterctl.core.gates.perftest_gate import PerftestGate, PerftestSettings, side_argv
from clusterctl.core.gates.settings import Seconds, at_level
from clusterctl.model.level import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.planning.step import ServerPlace
    from clusterctl.model.gate_result import Baseline

# A cable trained at half its lanes or half its speed reads about one half.
_HALF = (0.4, 0.6)


class RdmaPairSettings(PerftestSettings):
    """perftest between every two nodes, rail by rail.

    Attributes:
        duration_s: of one turn; perftest leaves out the first and the last quarter of it (`margin` in perftest_parameters.c).
        qps: queue pairs of one run.
    """

    test: Literal["ib_write_bw", "ib_send_bw", "ib_read_bw"] = "ib_write_bw"
    size_bytes: Annotated[int, Field(gt=0)] = 8388608
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 5, "standard": 5, "full": 15}
    qps: Annotated[int, Field(gt=0, le=64)] = 4


class RdmaPair(PerftestGate[RdmaPairSettings]):
    """Passes when every HCA reaches the floor with its partners."""

    name = "rdma_pair"
    settings_model = RdmaPairSettings
    metric = "bandwidth_average"
    units: ClassVar[Mapping[str, str]] = {"bandwidth_average": "Gb/s", "bandwidth_peak": "Gb/s"}
    default_levels = LEVELS
    # Of an adapter to memory of the host: PCIe 5.0 x16, 32 GT/s with 128b/130b coding; one of 800 Gb/s reads about half of its rate there.
    memory_gbps: ClassVar[float] = 504.0

    def argv(self, settings: RdmaPairSettings, level: Level, hca: Hca, server: ServerPlace) -> tuple[str, ...]:
        """One side of a perftest run."""
        own = ("-q", str(settings.qps), "-D", str(at_level(settings.duration_s, level)), "-F", "--report_gbits")
        return side_argv(settings, hca, own, server)

    def slow_hint(self, hca: Hca, values: Sequence[float], again: str) -> str:
        """The cable, by its port on the node."""
        half = any(_HALF[0] < value / min(hca.rate_gbps, self.memory_gbps) < _HALF[1] for value in values)
        what = "it runs at half its rate: see" if half else "see"
        return f"{what} rate and width in `ibstat {hca.name.replace('/', ' ')}`, reseat or replace the cable on port {hca.rail + 1}, then `{again}`"

    def line_rate(self, baseline: Baseline, settings: RdmaPairSettings, hcas: Sequence[Hca], gpus: int) -> float | None:  # noqa: ARG002
        """The rate of the slowest HCA."""
        return min((h.rate_gbps for h in hcas), default=None) if baseline.unit == "Gb/s" else None

    def usual_s(self, settings: RdmaPairSettings, level: Level) -> float:
        """A turn, and its start."""
        return at_level(settings.duration_s, level) + 5.0

    def not_proven(self, settings: RdmaPairSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """Two HCAs at a time."""
        return "memory of GPUs, latency, and many senders to one receiver"


GATE = RdmaPair()
