"""Gates that load all GPUs of a node and trace them meanwhile: what a report draws is decided by the gate, not by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clusterctl.core.gates.registry import all_gates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl_tools.gpu import GpuUnderLoad


@runtime_checkable
class LoadGate(Protocol):
    """A gate whose records have a trace of the load, in the step `trace` of a node; the report draws it where a result is not a pass."""

    @property
    def name(self) -> str:
        """Of the gate."""

    def read_load(self, text: str) -> Sequence[GpuUnderLoad]:
        """The GPUs in one sample of the trace.

        Raises:
            UnreadableGpuError: it is not an answer of the tool.
        """


def load_gates() -> tuple[LoadGate, ...]:
    """All of them, those of a site too, in the order in which they run."""
    return tuple(gate for gate in all_gates() if isinstance(gate, LoadGate))
