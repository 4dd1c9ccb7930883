"""cpu_stream: memory bandwidth of the processors of one node, by STREAM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.settings import GateSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.level import Level


class CpuStreamSettings(GateSettings):
    """STREAM, one thread per core unless `threads` is set. Its array size is compiled in: at least four times the last-level caches.

    Attributes:
        program: the executable; STREAM's own makefile calls it `stream_c.exe`.
        threads: OpenMP threads; None = as many as there are cores.
        timeout_s: for all repetitions.
    """

    program: Annotated[str, Field(min_length=1)] = "stream_c.exe"
    threads: Annotated[int, Field(gt=0)] | None = None


class CpuStream(NodeGate[CpuStreamSettings]):
    """Passes when STREAM validates its results and the best rates of its kernels reach their floors."""

    name = "cpu_stream"
    settings_model = CpuStreamSettings
    tool = "stream"
    default_levels = ("full",)
    units: ClassVar[Mapping[str, str]] = dict.fromkeys(("copy", "scale", "add", "triad"), "MB/s")

    def argv(self, settings: CpuStreamSettings, level: Level, subject: Subject) -> tuple[str, ...]:  # noqa: ARG002 the same everywhere
        """One run, threads spread over the cores of all sockets."""
        threads = (f"OMP_NUM_THREADS={settings.threads}",) if settings.threads else ()
        return ("env", "OMP_PLACES=cores", "OMP_PROC_BIND=spread", *threads, settings.program)

    def hint(self, result: GateResult) -> str:  # noqa: ARG002 one for all kernels
        """Rates fall with every memory channel that is empty or slow."""
        return "compare populated channels and speed in `dmidecode -t memory`, NPS or SNC in the BIOS, and the CPU governor; replace a slow DIMM"

    def usual_s(self, settings: CpuStreamSettings, level: Level) -> float:  # noqa: ARG002 the same at all levels and settings
        """Assumed."""
        return 120.0

    def not_proven(self, settings: CpuStreamSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """STREAM does not name DIMMs."""
        return "which DIMM or channel is slow, and that memory is right"


GATE = CpuStream()
