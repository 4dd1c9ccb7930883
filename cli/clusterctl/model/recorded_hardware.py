"""The hardware of a node, by its recorded parts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordedHardware:
    """The present parts of one node.

    Attributes:
        serial: of the machine; empty where none is recorded. So for the next two.
        machine_model: of the machine.
        gpu_model: of its GPUs.
        gpus: how many GPUs with a serial were seen in it.
    """

    serial: str
    machine_model: str
    gpu_model: str
    gpus: int
