"""How long real tools take, as data with sources, and the wait of a simulated tool in a lab that was started with --real-time.

seconds: measured by a clock, or stated by a person or a document (`kind`). A tool without an entry answers at once: nobody has published its time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import machine, state

if TYPE_CHECKING:
    from collections.abc import Sequence

# The factor that scales all times; the file of a node that answers at once does not exist.
FACTOR = "/var/lib/clusterctl-lab/real-time"


@dataclass(frozen=True)
class Timing:
    """One fact.

    Attributes:
        what: as in the collection of facts that it was taken from.
        gpus: number of GPUs that it holds for; the time grows with them. 0: independent of them.
    """

    what: str
    seconds: float
    kind: str
    source: str
    gpus: int = 0


_SRIOV = "k8snetworkplumbingwg/sriov-network-operator issue 835"
_DCGM = "DCGM documentation, dcgmi diag"
NV_QUERY_ALL = Timing("mstconfig -d ADDR -e query, all parameters", 13.292, "measured", _SRIOV)
NV_QUERY_NAMED = Timing("mstconfig -d ADDR -e query of two named parameters", 1.437, "measured", _SRIOV)
SMI = Timing("nvidia-smi with nvidia-persistenced running, 8 GPUs", 2, "stated", "Azure/aks-gpu pull 105", gpus=8)
SMI_COLD = Timing("nvidia-smi without persistence, 8 GPUs", 30, "stated", "Azure/aks-gpu pull 105", gpus=8)
SMI_PERSISTENCE = Timing("nvidia-smi -pm 1", 25, "stated (more than)", "Azure/AgentBaker pull 2829", gpus=8)
DIAG_2 = Timing("dcgmi diag -r 2", 120, "stated (about 2 min)", _DCGM)
DIAG_3 = Timing("dcgmi diag -r 3", 900, "stated (about 15 min)", _DCGM)
ALL = (NV_QUERY_ALL, NV_QUERY_NAMED, SMI, SMI_COLD, SMI_PERSISTENCE, DIAG_2, DIAG_3)


def wait(module: str, argv: Sequence[str]) -> None:
    """Take as long as the real tool, times the lab's factor; not at all in a lab that does not request it."""
    factor = state.read(FACTOR)
    if factor:
        time.sleep(seconds(module, argv[1:]) * float(factor))


def seconds(module: str, words: Sequence[str]) -> float:
    """How long the real tool takes that the module simulates, with these arguments, on this machine."""
    if module == "perftest":
        return _duration_option(words)
    fact = {"nv_config": _nv_config, "nvidia_smi": _nvidia_smi, "dcgmi": _dcgmi}.get(module, _unknown)(words)
    if fact is None:
        return 0
    return fact.seconds * machine.GPUS / fact.gpus if fact.gpus else fact.seconds


def _nv_config(words: Sequence[str]) -> Timing | None:
    verbs = [i for i, word in enumerate(words) if word in ("q", "query", "s", "set")]
    if not verbs:
        return None
    # Setting a parameter queries it first.
    return NV_QUERY_NAMED if len(words) > verbs[0] + 1 else NV_QUERY_ALL


def _nvidia_smi(words: Sequence[str]) -> Timing | None:
    if "--version" in words or not state.driver_version():
        return None
    if state.flag("persistence"):
        return SMI
    enables = any(w in ("-pm", "--persistence-mode") or w.startswith("--persistence-mode=") for w in words)
    return SMI_PERSISTENCE if enables else SMI_COLD


def _dcgmi(words: Sequence[str]) -> Timing | None:
    level = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-r", "--run")), "")
    if words[:1] != ["diag"]:
        return None
    # Level 4 takes longer than 3; how much longer is not published.
    return {"2": DIAG_2, "3": DIAG_3, "4": DIAG_3}.get(level)


def _unknown(_words: Sequence[str]) -> Timing | None:
    return None


def _duration_option(words: Sequence[str]) -> float:
    """`ib_write_bw -D SECONDS` runs that long; without -D its 5000 iterations take less than a second."""
    value = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-D", "--duration")), "0")
    return float(value) if value.isdigit() else 0
