"""How each gate measures: the schema of `gates_settings`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations

V = TypeVar("V", bound=int)

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[int, Field(gt=0, le=86400)]
DiagLevel = Annotated[int, Field(ge=1, le=4)]


class Settings(BaseModel):
    """Base of all gate settings: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DcgmDiagSettings(Settings):
    """`dcgmi diag -r LEVEL -j`.

    Attributes:
        diag_level: DCGM's own run level, for all burn-in levels or for each.
        required_tests: tests that must be Pass on every GPU, by run level; a Skip is no Pass.
        parameters: `test.name=value`, passed as `-p`.
    """

    diag_level: DiagLevel | dict[Level, DiagLevel] = {"quick": 1, "standard": 2, "full": 3}
    timeout_s: Seconds | dict[Level, Seconds] = {"quick": 300, "standard": 1200, "full": 5400}
    required_tests: dict[Annotated[int, Field(ge=1, le=4, strict=False)], list[str]] = {
        1: ["software"],
        2: ["software", "memory", "pcie"],
        3: ["software", "memory", "pcie", "diagnostic", "targeted_stress", "targeted_power"],
        4: ["software", "memory", "pcie", "diagnostic", "targeted_stress", "targeted_power", "memtest", "pulse_test"],
    }
    parameters: list[str] = []


class RdmaPairSettings(Settings):
    """perftest between every two nodes, rail by rail.

    Attributes:
        qps: queue pairs of one run.
        rounds: how many tournament rounds; 0 = all, so that everybody meets everybody.
        gdr: buffers in GPU memory (`--use_cuda`); perftest must be built for it.
        gid_index, traffic_class: for RoCE.
        base_port: round r, rail k listens on base_port + 1 + r * rails + k; base_port itself is the agents' own.
        timeout_s: for one run, from the moment both nodes have reached the round.
        peer_wait_s: how long a node whose agent never answered is waited for.
    """

    test: Literal["ib_write_bw", "ib_send_bw", "ib_read_bw"] = "ib_write_bw"
    size_bytes: Annotated[int, Field(gt=0)] = 8388608
    duration_s: Seconds | dict[Level, Seconds] = {"quick": 5, "standard": 10, "full": 30}
    qps: Annotated[int, Field(gt=0, le=64)] = 4
    rounds: Count | dict[Level, Count] = {"quick": 3, "standard": 0, "full": 0}
    gdr: bool = False
    gid_index: Count | None = None
    traffic_class: Annotated[int, Field(ge=0, le=255)] | None = None
    base_port: Annotated[int, Field(ge=1024, le=60000)] = 18514
    timeout_s: Seconds = 90
    peer_wait_s: Seconds = 120


class NcclSettings(Settings):
    """What the NCCL gates share.

    Attributes:
        collective: nccl-tests' program without `_perf`.
        require_transport: a kind that must be seen (`P2P`, `NET/IB`); empty = not asked.
        forbid_transport: kinds that must not be seen.
        require_correctness: results must have been checked by the tool (`#wrong` is a number), not N/A.
        environment: `NCCL_*` variables for this gate only.
    """

    collective: Literal["all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", "reduce"] = "all_reduce"
    size_bytes: Annotated[int, Field(gt=0)] = 17179869184
    iterations: Annotated[int, Field(gt=0)] | dict[Level, Annotated[int, Field(gt=0)]] = {"quick": 10, "standard": 20, "full": 50}
    timeout_s: Seconds = 600
    require_transport: str = ""
    forbid_transport: list[str] = ["NET/Socket"]
    require_correctness: bool = True
    environment: dict[str, str] = {}


class NcclNodeSettings(NcclSettings):
    """All GPUs of one node, in one process."""

    require_transport: str = "P2P"
    forbid_transport: list[str] = ["NET/Socket", "SHM"]


# As NCCL names a channel between the nodes of one NVLink domain (transport/p2p.cc).
OVER_NVLINK = "P2P/MNNVL"


class NcclGroupSettings(NcclSettings):
    """All nodes together, started by mpirun from one of them; over NVLink (`require_transport: P2P/MNNVL`) those of each NVLink domain.

    Attributes:
        require_gdr: every network channel must use GPUDirect RDMA.
        mpi_arguments: further words for mpirun.
    """

    require_transport: str = "NET/IB"
    require_gdr: bool = True
    mpi_arguments: list[str] = []

    @property
    def over_nvlink(self) -> bool:
        """The nodes of a group are joined by NVLink."""
        return self.require_transport == OVER_NVLINK


class NvbandwidthSettings(Settings):
    """`nvbandwidth -j -t TESTCASE ...`."""

    testcases: Annotated[list[str], Field(min_length=1)] = ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]
    timeout_s: Seconds = 600


class GateSettings(Settings):
    """`gates_settings`: one entry per gate; what is left out keeps its default."""

    dcgm_diag: DcgmDiagSettings = DcgmDiagSettings()
    rdma_pair: RdmaPairSettings = RdmaPairSettings()
    nccl_node: NcclNodeSettings = NcclNodeSettings()
    nccl_group: NcclGroupSettings = NcclGroupSettings()
    nvbandwidth: NvbandwidthSettings = NvbandwidthSettings()


NODE_GATES = ("dcgm_diag", "nvbandwidth", "nccl_node")
PAIR_GATES = ("rdma_pair",)
GROUP_GATES = ("nccl_group",)
GATES = (*NODE_GATES, *PAIR_GATES, *GROUP_GATES)


def at_level(setting: V | dict[Level, V], level: Level) -> V:
    """A setting's value at a burn-in level; a mapping must name the level (the profile's loader checks it)."""
    return setting[level] if isinstance(setting, dict) else setting
