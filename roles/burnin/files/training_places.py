"""Where each rank of training_proxy.py stands, in a file that its process and the one that started it share: it outlives a rank that hangs or dies.

Standard library, Python 3.8+.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import mmap

# In the order in which a rank goes through them in a step; `start`, `meet` and `end` are before and after all steps.
PHASES = ("start", "meet", "compute", "communicate", "update", "end")
LAYOUT = struct.Struct("<ii")


class Place:
    """The step and the phase of one rank."""

    def __init__(self, memory: mmap.mmap) -> None:
        self.memory = memory

    def at(self, step: int, phase: str) -> None:
        """The rank is there now."""
        LAYOUT.pack_into(self.memory, 0, step, PHASES.index(phase))


def read_place(content: bytes) -> dict[str, Any]:
    """Step and phase in the content of a file."""
    step, phase = LAYOUT.unpack(content)
    return {"step": step, "phase": PHASES[phase]}
