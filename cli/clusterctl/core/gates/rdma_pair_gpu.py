"""rdma_pair_gpu: as rdma_pair with the buffers in GPU memory, so that every rail proves GPUDirect RDMA and its path over PCIe."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clusterctl.core.gates.rdma_pair import RdmaPair, RdmaPairSettings
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_reason import GateReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.planning.step import ServerPlace
    from clusterctl.model.gate_result import RawRecord, Sample
    from clusterctl.model.level import Level

# CUDA numbers GPUs fastest first by default; hardware_hcas, NVML and nvidia-smi number them by PCI address (CUDA C++ programming guide).
_BY_ADDRESS = ("env", "CUDA_DEVICE_ORDER=PCI_BUS_ID")
# cuda_memory.c of perftest: with the type of the memory since 25.04.0-0.84, and for memory of the GPU only before.
_BUFFER = re.compile(r"^allocated GPU buffer (?:of a \d+ address at \S+ for type (\S+)|address at )", re.MULTILINE)
_ON_THE_GPU = "CUDA_MEM_DEVICE"
# create_single_mr of perftest_resources.c and cuda_memory.c: ibv_reg_mr without nvidia-peermem (EFAULT), or a DMA-BUF that driver or adapter refuse.
# perftest_parameters.c: Data Direct in a build with an rdma-core that lacks it.
_UNREGISTERED = re.compile(
    r"Couldn't allocate MR|DMA-BUF is not supported on this GPU|cuMemGetHandleForAddressRange error|Data Direct is not supported"
)


class RdmaPairGpuSettings(RdmaPairSettings):
    """perftest with `--use_cuda`: the GPU of each rail is the one that `hardware_hcas` declares beside the HCA; else that of `near_gpus`; else that of its number.

    Attributes:
        program: perftest built with CUDA; the packages of distributions are built without it.
        dmabuf: register GPU memory by DMA-BUF and not by nvidia-peermem.
        data_direct: over the adapter's function beside the GPU (ConnectX-8 behind Grace), which needs a DMA-BUF; the network function reaches GPU memory only
            over the processor, at 225 of 378 GB/s (Azure ND GB300 v6). NVIDIA's guides of GPUDirect RDMA on CX8 measure so.
        near_gpus: the GPU of each rail, in their order, where that is not a matter of the PCIe switch of the HCA, which a `gpu` in `hardware_hcas` is.
    """

    program: Annotated[str, Field(min_length=1)] = "ib_write_bw_cuda"
    dmabuf: bool = False
    data_direct: bool = False
    near_gpus: list[Annotated[int, Field(ge=0)]] = []
    base_port: Annotated[int, Field(ge=1024, le=60000)] = 24514

    def gpu_of(self, hca: Hca) -> int:
        """The GPU that an HCA is measured with."""
        return self.near_gpus[hca.rail] if hca.gpu_assumed and hca.rail < len(self.near_gpus) else hca.gpu


class RdmaPairGpu(RdmaPair):
    """Passes when every HCA reaches the floor with its partners, from GPU memory to GPU memory."""

    name = "rdma_pair_gpu"
    settings_model = RdmaPairGpuSettings
    default_levels = ("standard", "full")
    memory_gbps = math.inf

    def argv(self, settings: RdmaPairSettings, level: Level, hca: Hca, server: ServerPlace) -> tuple[str, ...]:
        """One side of a perftest run on the GPU of the rail."""
        _program, *words = super().argv(settings, level, hca, replace(server, is_own=True))
        own = self._own(settings)
        words += [f"--use_cuda={own.gpu_of(hca)}", *(["--use_cuda_dmabuf"] if own.dmabuf or own.data_direct else [])]
        words += ["--use_data_direct"] if own.data_direct else []
        return (*_BY_ADDRESS, own.program, *words, *([] if server.is_own else [server.address]))

    def version_argv(self, settings: RdmaPairSettings) -> tuple[str, ...]:
        """Of the program that runs."""
        return (self._own(settings).program, "--version")

    def samples(self, text: str) -> tuple[Sample, ...]:
        """As perftest's, if the run was in GPU memory.

        Raises:
            UnparsableError: it is incomplete, or its buffer was not in GPU memory.
        """
        found = super().samples(text)
        types = {buffer[1] or _ON_THE_GPU for buffer in _BUFFER.finditer(text)}
        if not types:
            raise UnparsableError(tool=self.tool, reason="it does not report a buffer in GPU memory")
        if other := sorted(types - {_ON_THE_GPU}):
            raise UnparsableError(tool=self.tool, reason=f"its buffer is not in GPU memory: it is of type {other[0]}")
        return found

    def failure_reason(self, record: RawRecord) -> GateReason:
        """An adapter that cannot register memory of a GPU fails before any data is sent."""
        if _UNREGISTERED.search(self.output_of(record) + record.stderr):
            return GateReason.GPU_MEMORY_UNREGISTERED
        return super().failure_reason(record)

    def slow_hint(self, hca: Hca, values: Sequence[float], again: str) -> str:  # noqa: ARG002 the path is the same for all
        """The path between HCA and GPU: the cable has rdma_pair to itself."""
        gpu = "its GPU" if hca.gpu_assumed else f"GPU {hca.gpu}"
        path = (
            f"see ACS (`lspci -vvv`, ACSCtl) on the switches between {hca.name} and {gpu}, `nvidia-smi topo -m` and the PCIe link of both"
        )
        if hca.gpu_assumed:
            path = f"hardware_hcas declares no gpu for {hca.name}, so its GPU was taken from near_gpus or by its rail: declare the nearest one; {path}"
        return f"if rdma_pair passes on {hca.name}, the cable is good and GPU memory is slow: {path}, then `{again}`"

    @staticmethod
    def _own(settings: RdmaPairSettings) -> RdmaPairGpuSettings:
        if not isinstance(settings, RdmaPairGpuSettings):
            raise TypeError(f"the settings of rdma_pair_gpu are {type(settings).__name__}")
        return settings

    def not_proven(self, settings: RdmaPairSettings, level: Level) -> str:  # noqa: ARG002 the same at all levels and settings
        """Two HCAs at a time."""
        return "latency, and many senders to one receiver"


GATE = RdmaPairGpu()
