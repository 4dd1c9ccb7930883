"""The command line of every gate's tool, as argument lists: no shell ever reads them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.settings import (
    DcgmDiagSettings,
    NcclGroupSettings,
    NcclSettings,
    NvbandwidthSettings,
    RdmaPairSettings,
    at_level,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.core.gates.devices import Hca
    from clusterctl.model.level import Level

_TRANSPORT_LINES = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,GRAPH,P2P,SHM"}


def dcgm_diag(settings: DcgmDiagSettings, level: Level) -> tuple[str, ...]:
    """`dcgmi diag` with its JSON output."""
    parameters = ("-p", ";".join(settings.parameters)) if settings.parameters else ()
    return ("dcgmi", "diag", "-r", str(at_level(settings.diag_level, level)), *parameters, "-j")


def nvbandwidth(settings: NvbandwidthSettings) -> tuple[str, ...]:
    """`nvbandwidth` with its JSON output."""
    return ("nvbandwidth", "-j", "-t", *settings.testcases)


def rdma_side(settings: RdmaPairSettings, level: Level, hca: Hca, port: int, server: str = "") -> tuple[str, ...]:
    """One side of a perftest run; with `server`, the client of that address."""
    words = [settings.test, "-d", hca.name, "-p", str(port), "-s", str(settings.size_bytes), "-q", str(settings.qps)]
    words += ["-D", str(at_level(settings.duration_s, level)), "-F", "--report_gbits"]
    if settings.gid_index is not None:
        words += ["-x", str(settings.gid_index)]
    if settings.traffic_class is not None:
        words += ["--tclass", str(settings.traffic_class)]
    if settings.gdr:
        words.append(f"--use_cuda={hca.gpu}")
    return (*words, server) if server else tuple(words)


def nccl_node(settings: NcclSettings, level: Level, gpus: int) -> tuple[str, ...]:
    """All GPUs of a node in one process."""
    variables = {**_TRANSPORT_LINES, **settings.environment}
    return ("env", *(f"{k}={v}" for k, v in variables.items()), *_nccl_test(settings, level), "-g", str(gpus))


def nccl_group(settings: NcclGroupSettings, level: Level, hosts: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """All GPUs of all hosts (address, GPUs), one process per GPU, ranks in the order given."""
    variables = {**_TRANSPORT_LINES, **settings.environment}
    ranks = sum(gpus for _, gpus in hosts)
    where = ",".join(f"{address}:{gpus}" for address, gpus in hosts)
    exported = (word for k, v in variables.items() for word in ("-x", f"{k}={v}"))
    mpi = ("mpirun", "--allow-run-as-root", "-np", str(ranks), "--host", where, "--bind-to", "numa", *settings.mpi_arguments, *exported)
    return (*mpi, *_nccl_test(settings, level), "-g", "1")


def _nccl_test(settings: NcclSettings, level: Level) -> tuple[str, ...]:
    size, iterations = str(settings.size_bytes), str(at_level(settings.iterations, level))
    return (f"{settings.collective}_perf", "-b", size, "-e", size, "-n", iterations, "-w", "5", "-c", "1")


VERSION_ARGV: dict[str, tuple[str, ...]] = {
    "dcgmi_diag": ("dcgmi", "--version"),
    "nvbandwidth": ("nvbandwidth", "--help"),
    "nccl_tests": ("all_reduce_perf", "--help"),
    "ib_write_bw": ("ib_write_bw", "--version"),
    "ib_send_bw": ("ib_send_bw", "--version"),
    "ib_read_bw": ("ib_read_bw", "--version"),
}
