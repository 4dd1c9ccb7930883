"""The rows of the drill, from tests/cases/faults: what is wrong, by which number, and what the public sources say about it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from clusterctl.model.level import Level  # noqa: TC001 pydantic reads it
from clusterctl.model.repair import Component, NextAction
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = ROOT / "tests" / "cases" / "faults"
_VOCABULARY = "vocabulary.yml"
# The profiles observe them, at level full: they need PyTorch, fio, stressapptest or a shared file system, which a site has, or a limit that fits its network.
ADDED_GATES = ("torch_gemm", "nvme_fio", "host_memory", "rdma_latency", "storage_throughput", "training_proxy")

Kind = Literal[
    "smi", "smi_answer", "gpu_gone", "nvlink", "nvlink_errors", "journal", "file", "counter", "log_under_load", "gemm", "products", "query", "dcgm",
    "copy", "pcie_hop", "nccl", "nccl_output", "nccl_hang", "group_output", "pair", "uplink", "rail_switch", "no_record", "reboot", "unit", "disk",
    "torch_products", "disk_read", "host_memory", "latency", "imex", "storage", "training", "leak", "chassis_part", "smart",
]  # fmt: skip
When = Literal["always", "load", "before_load"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class Change(_Model):
    """What one output of a node shows in place of a healthy one.

    Attributes:
        node: `*` for every node of the rack.
        when: always = before the load, too; load = after it only; before_load = before and after it alike, and not by validators.
        value: what is shown instead, of a disk's SMART log its fields as JSON; of storage how many blocks are wrong, of training `weights` where a rank has others, of a hang of NCCL the plug-in
            that only this node has.
        path: an element of `nvidia-smi -q -x`, a file, a counter, a test of DCGM or a testcase of nvbandwidth, a disk, a power supply or fan, or a leak
            detector, which is absent where it has no value; `{pci}` is the address of the device.
        factor: what is left of a healthy number; clock: the same of the clock, power: of the power limit.
        share: of the samples, of the meetings with others, of the products, or of two or three measurements from the first on, that show it.
    """

    kind: Kind
    node: str = ""
    gpu: int | None = None
    hca: str = ""
    path: str = ""
    value: str = ""
    when: When = "always"
    gate: str = ""
    factor: float = 1.0
    clock: float = 1.0
    power: float = 1.0
    share: float = 1.0
    rail: int = 0
    leaf: str = ""
    seconds: float = 0.0


class Oracle(_Model):
    """What is right about a fault by a public source, which knows nothing of this program.

    Attributes:
        node: the node it is on; empty where a switch is at fault, which is not a node.
        device: as the vendor's tools number it (`gpu3`, `mlx5_2`); empty where the node, or a part without a number, is at fault.
        actions: the next action; any of them is right.
    """

    node: str
    component: Component
    device: str = ""
    actions: Annotated[tuple[NextAction, ...], Field(min_length=1)]
    source: Annotated[str, Field(min_length=8)]


class Row(_Model):
    """A fault.

    Attributes:
        rack: the kind of rack, of RACK_KINDS.
        tool: the tool or counter that shows it; number: what it shows.
        below: no absolute limit of today is passed: only peers, growth or nothing at all can show it.
        incident: the public incident that it is.
        added_gates: it is tried with ADDED_GATES, beside those of the profile.
        level: of the burn-in.
        must_pass: what it shows is not evidence against a part: who holds the node is wrong.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    rack: str = "hgx_h100"
    fault: str
    tool: str
    number: str
    source: Annotated[str, Field(min_length=8)]
    below: bool
    incident: str = ""
    added_gates: bool = False
    level: Level = "standard"
    must_pass: bool = False
    changes: tuple[Change, ...]
    oracle: Annotated[tuple[Oracle, ...], Field(min_length=1)]


def load_rows() -> tuple[Row, ...]:
    """Every row, in the order of files and rows.

    Raises:
        ValueError: a row is not what it should be.
    """
    files = sorted(p for p in FOLDER.glob("*.yml") if p.name != _VOCABULARY)
    return tuple(Row.model_validate(row) for file in files for row in load_yaml(file.read_text(encoding="utf-8")))


@cache
def hint_words() -> Mapping[NextAction, re.Pattern[str]]:
    """By which words a hint names an action."""
    found = load_yaml((FOLDER / _VOCABULARY).read_text(encoding="utf-8"))
    return {NextAction(name): re.compile(pattern, re.IGNORECASE) for name, pattern in found.items()}
