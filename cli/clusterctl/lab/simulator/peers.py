"""How nodes ask each other what they are: the supervisor of each answers on a TCP port."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass

from . import machine, noise, state

PORT = 7711
TIMEOUT_S = 5.0
# All-reduce over eight GPUs with NVSwitch reduction, and the best a group reaches over eight NDR rails, GB/s.
NODE_BUSBW = 481.0
GROUP_BUSBW = 389.0
# What is left when data goes through host memory.
WITHOUT_GDR = 0.6


class PeerError(Exception):
    """A node does not answer."""


@dataclass(frozen=True)
class Peer:
    """What a node brings to a group run.

    `gpus`: bus ids; `slowest_hca`: part of the line rate; `nccl_factor`: part of the usual bus bandwidth; versions empty if absent.
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

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def describe() -> Peer:
    """This node."""
    node = os.uname().nodename
    faults = state.read_faults()
    factors = [faults.hca_factor(f"mlx5_{i}", machine.LINE_RATE_GBPS) for i in range(machine.HCAS)]
    return Peer(
        node=node,
        driver=state.driver_version(),
        nccl=state.installed("libnccl2"),
        tests=state.installed("nccl-tests"),
        fabric=bool(state.flag("fabric")),
        gdr=state.loaded("nvidia_peermem"),
        gpus=[machine.gpu(node, i).bus_id for i in range(machine.GPUS) if i not in faults.missing_gpus() | faults.lost_gpus()],
        slowest_hca=min(factors),
        nccl_factor=faults.nccl_factor() * noise.factor(node, "nccl"),
    )


def ask(address: str, port: int = PORT) -> Peer:
    """What the node at an address says of itself. PeerError if it says nothing."""
    try:
        with socket.create_connection((address, port), timeout=TIMEOUT_S) as connection:
            connection.sendall(b"describe\n")
            return Peer(**json.loads(connection.makefile("r", encoding="utf-8").readline()))
    except (OSError, ValueError, TypeError) as e:
        raise PeerError(f"{address}: {e}") from e
