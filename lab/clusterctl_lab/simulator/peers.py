"""Queries between nodes: the supervisor of each node describes the node on a TCP port."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass

from . import device_variation, imex_channel, machine, nvlink_fabric, pcie_acs, state

PORT = 7711
TIMEOUT_S = 5.0
NCCL_CONF = "/etc/nccl.conf"
# Bandwidth factor when data goes through host memory.
WITHOUT_GDR = 0.6


class PeerError(Exception):
    """A node did not answer."""


@dataclass(frozen=True)
class Peer:
    """The properties of a node that determine the result of a group run.

    Attributes:
        driver, nccl, tests: versions; empty if not installed.
        fabric: all GPUs have joined the NVLink fabric.
        gdr: GPUDirect RDMA is available.
        gpus: PCI bus ids of the usable GPUs.
        slowest_hca: bandwidth of the slowest HCA, with GPU memory where it can, as a fraction of the line rate.
        nccl_factor: bus bandwidth as a fraction of the usual one.
        rack: what NCCL prints if the node cannot use the NVLink fabric of its rack; empty if it can, or if the rack has none.
        hangs: NCCL stops in each group with other nodes.
        imex: the addresses of the IMEX domain whose daemon runs here, its own first; empty if none runs or its members are not known.
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
    imex: tuple[str, ...] = ()
    hangs: bool = False

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def describe_self() -> Peer:
    """The properties of this node."""
    node = os.uname().nodename
    faults = state.read_faults()
    gdr = _reaches_gpu_memory() and (machine.THIS.rack_nvlink or not faults.of("gpudirect_off"))
    factors = [
        faults.hca_factor(name, machine.THIS.line_rate_gbps) * (pcie_acs.gpudirect_factor(rail) if gdr else 1.0)
        for rail, name in ((i, machine.hca_name(i)) for i in machine.live_hcas())
    ]
    return Peer(
        node=node,
        driver=state.driver_version(),
        nccl=state.installed_version("libnccl2"),
        tests=state.installed_version("nccl-tests"),
        fabric=all(nvlink_fabric.gpu_joined(index, faults) for index in range(machine.GPUS)),
        gdr=gdr,
        gpus=[machine.gpu(node, i).bus_id for i in range(machine.GPUS) if i not in faults.missing_gpus() | faults.lost_gpus()],
        slowest_hca=min(factors),
        nccl_factor=faults.nccl_factor() * device_variation.variation_factor(node, "nccl"),
        hangs=bool(faults.of("nccl_hangs")),
        rack=_mnnvl_problem() if machine.THIS.rack_nvlink else "",
        imex=tuple(state.flag("imex_domain").split()) if machine.THIS.rack_nvlink and state.flag("imex") else (),
    )


def _reaches_gpu_memory() -> bool:
    """Whether HCAs can: by nvidia-peermem, else by DMA-BUF, which the open modules have and NCCL uses by default (NCCL_DMABUF_ENABLE, src/init.cc)."""
    return state.is_module_loaded("nvidia_peermem") or nccl_settings().get("NCCL_DMABUF_ENABLE") != "0"


def nccl_settings() -> dict[str, str]:
    """The variables of /etc/nccl.conf, which NCCL adds to its environment where they are not set (src/misc/param.cc)."""
    pairs = (line.partition("=") for line in state.read(NCCL_CONF).splitlines() if not line.startswith("#"))
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _mnnvl_problem() -> str:
    """What NCCL prints if multi-node NVLink cannot be used (src/mnnvl.cc); empty if it can.

    Without a channel the driver refuses memory that other nodes could import (src/include/alloc.h); without a daemon it cannot be exported.
    """
    if not imex_channel.channel_exists():
        what = "channel configuration (/dev/nvidia-caps-imex-channels)"
        return f"include/alloc.h:229 NCCL WARN Cuda failure 801 'operation not supported'\n{_unusable(what)}"
    return "" if state.flag("imex") else without_daemon()


def without_daemon() -> str:
    """What NCCL prints on a node without an IMEX daemon; `{clique}` is the number of its GPUs."""
    return _unusable("configuration (nvidia-imex-ctl -N)")


def _unusable(what: str) -> str:
    clique = "MNNVL (cliqueSize {clique}) is available but not working on this system."
    return f"mnnvl.cc:66 NCCL WARN {clique} Check the IMEX {what}. Set NCCL_MNNVL_ENABLE=0 to ignore this issue."


def query_peer(address: str, port: int = PORT) -> Peer:
    """The properties of the node at an address.

    Raises:
        PeerError: it did not answer.
    """
    try:
        with socket.create_connection((address, port), timeout=TIMEOUT_S) as connection:
            connection.sendall(b"describe\n")
            found = json.loads(connection.makefile("r", encoding="utf-8").readline())
            return Peer(**{**found, "imex": tuple(found.get("imex", ()))})
    except (OSError, ValueError, TypeError) as e:
        raise PeerError(f"{address}: {e}") from e
