"""Capacity in numbers, for those who poll it. The words are those of buyers of GPU capacity (NVIDIA/ai-cloud-validation, CAP01)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many there are.

    Attributes:
        delivered: recorded and not retired.
        healthy: admitted, and answered when last validated.
        reserved: allocated to a tenant; null: no pool reports it.
        in_use: running jobs; null where the pool was not queried, or does not report it.
        withheld: from tenants, for now: a run holds them, or a person took them out.
    """

    delivered: int
    healthy: int
    reserved: int | None
    in_use: int | None
    withheld: int


@dataclass(frozen=True, slots=True)
class GpuCapacity(Capacity):
    """How many GPUs there are in these nodes, of those whose serial is recorded.

    Attributes:
        uncounted_nodes: delivered nodes of which no part is recorded: their GPUs are in no number.
    """

    uncounted_nodes: int
