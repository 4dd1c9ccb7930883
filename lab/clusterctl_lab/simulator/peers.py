"""How nodes ask each other what they are: the supervisor of each answers on a TCP port."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass

from . import device_variation, imex_channel, machine, nvlink_fabric, state

PORT = 7711
TIMEOUT_S = 5.0
# What is left when data goes through host memory.
WITHOUT_GDR = 0.6


class PeerError(Exception):
    """A node does not answer."""


@dataclass(frozen=True)
class Peer:
    """What a node brings to a group run.

    `gpus`: bus ids; `slowest_hca`: part of the line rate; `nccl_factor`: part of the usual bus bandwidth; versions empty if absent;
    `rack`: why its GPUs cannot reach those of other nodes over the NVLink of a rack, empty if they can or there is none.
    """

    node: str
    driver: str
    nccl: str
    tests: str
    fabric: bool
    gdr: bool
    gpus: list[str]
    slowest_hca: float
    nccl_factor: float
    rack: str = ""

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def describe_self() -> Peer:
    """This node."""
    node = os.uname().nodename
    faults = state.read_faults()
    factors = [faults.hca_factor(name, machine.THIS.line_rate_gbps) for name in machine.THIS.hca_names]
    return Peer(
        node=node,
        driver=state.driver_version(),
        nccl=state.installed_version("libnccl2"),
        tests=state.installed_version("nccl-tests"),
        fabric=all(nvlink_fabric.gpu_joined(index, faults) for index in range(machine.GPUS)),
        gdr=machine.THIS.rack_nvlink or state.is_module_loaded("nvidia_peermem"),
        gpus=[machine.gpu(node, i).bus_id for i in range(machine.GPUS) if i not in faults.missing_gpus() | faults.lost_gpus()],
        slowest_hca=min(factors),
        nccl_factor=faults.nccl_factor() * device_variation.variation_factor(node, "nccl"),
        rack=_mnnvl_problem() if machine.THIS.rack_nvlink else "",
    )


def _mnnvl_problem() -> str:
    """As NCCL says it (src/mnnvl.cc)."""
    if not imex_channel.channel_exists():
        return "Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels). Set NCCL_MNNVL_ENABLE=0 to ignore this issue."
    if not state.flag("imex"):
        return "Check the IMEX configuration with `nvidia-imex-ctl -N`. Set NCCL_MNNVL_ENABLE=0 to ignore this issue."
    return ""


def query_peer(address: str, port: int = PORT) -> Peer:
    """What the node at an address says of itself. PeerError if it says nothing."""
    try:
        with socket.create_connection((address, port), timeout=TIMEOUT_S) as connection:
            connection.sendall(b"describe\n")
            return Peer(**json.loads(connection.makefile("r", encoding="utf-8").readline()))
    except (OSError, ValueError, TypeError) as e:
        raise PeerError(f"{address}: {e}") from e
