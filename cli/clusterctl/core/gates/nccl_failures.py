"""Why a run of NCCL ended without a result: what NCCL and MPI print where GPUs or nodes cannot reach each other. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterctl.core.gates.nccl_rules import MNNVL_VARIABLE
from clusterctl.model.gate_reason import GateReason

if TYPE_CHECKING:
    from clusterctl.model.gate_result import RawRecord

# src/mnnvl.cc; up to 2.26 `not supported`. The line before it is that of the CUDA call that failed.
_NO_DOMAIN = re.compile(r"MNNVL \(cliqueSize \d{1,6}\) is available but not (?:working|supported)")
# CUDA 800 and 801: memory of another node cannot be imported, because this one is not in its IMEX domain (recorded with NCCL 2.2x).
_NO_IMPORT = re.compile(r"transport/(?:p2p|nvls)\.cc:\d{1,6}.{0,80}Cuda failure 80[01]\b")
# src/transport/nvls.cc: the switches have no multicast group for these GPUs.
_NO_MULTICAST = re.compile(r"transport/nvls\.cc:\d{1,6}.{0,80}Cuda failure \d|Failed to bind NVLink SHARP \(NVLS\) Multicast memory")
# help-oob-tcp.txt of Open MPI 4.1. Assumed: one built without IPv6 prints it on interfaces that have only such addresses; seen was one with IPv6.
_NO_NETWORK = re.compile(r"None of the TCP networks specified to be included for out-of-band")
# CUDA 802, as nccl-tests prints it.
_NO_FABRIC = re.compile(r"system not yet initialized")


def main_warning(record: RawRecord) -> str:
    """The line that names the reason, else NCCL's first warning, since the lines after it follow from it; empty if it printed none."""
    _, line = _sign_in(record)
    return line or next((line for line in _lines(record) if "NCCL WARN" in line), "")


def failure_reason(record: RawRecord) -> GateReason:
    """By the most important sign that occurs anywhere in the output; EXIT_STATUS without any."""
    return _sign_in(record)[0]


def _sign_in(record: RawRecord) -> tuple[GateReason, str]:
    lines = _lines(record)
    found = ((reason, line) for reason, sign in _signs(record) for line in lines if sign.search(line))
    return next(found, (GateReason.EXIT_STATUS, ""))


def _lines(record: RawRecord) -> list[str]:
    return [line.strip() for line in f"{record.stdout}\n{record.stderr}".splitlines()]


def _signs(record: RawRecord) -> tuple[tuple[GateReason, re.Pattern[str]], ...]:
    """In order of importance. One node shares memory by file descriptors, which needs no IMEX."""
    between_nodes = len(record.peers) > 1 and not any(word == f"{MNNVL_VARIABLE}=0" for word in record.argv)
    imports = ((GateReason.NVLINK_UNUSABLE, _NO_IMPORT),) if between_nodes else ()
    return (
        (GateReason.NVLINK_UNUSABLE, _NO_DOMAIN),
        *imports,
        (GateReason.NVLS_UNUSABLE, _NO_MULTICAST),
        (GateReason.FABRIC_NOT_READY, _NO_FABRIC),
        (GateReason.ADDRESS_UNUSABLE, _NO_NETWORK),
    )
