"""The parts of a node by their serial numbers: its identity beside its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A part with a serial number.

    Attributes:
        kind: system, chassis, baseboard, cpu, dimm, gpu, nic, nvswitch (a management function of NVSwitches) or nvme.
        slot: where it is, the same after every boot: a PCI address, a DIMM's locator, a CPU's socket; empty for the only one of its kind.
        name: its usual name: `GPU 3`, `mlx5_0`, `nvme1 (nvme1n1)`.
    """

    kind: str
    slot: str
    name: str
    model: str
    serial: str


@dataclass(frozen=True, slots=True)
class NodeParts:
    """The parts that one node reported.

    Attributes:
        problem: why it reported none; then `parts` is empty.
        missing: what could not be read, with the reason: (kinds, reason).
    """

    node: str
    parts: tuple[Part, ...] = ()
    problem: str = ""
    missing: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part as it is recorded.

    Attributes:
        first_run, first_seen: the run that found it first, and when.
        last_seen: when it was last seen.
        ended_run: the run that found another serial at its place; empty for the present part.
    """

    node: str
    part: Part
    first_run: str
    first_seen: str
    last_seen: str
    ended_run: str = ""


@dataclass(frozen=True, slots=True)
class Replacement:
    """At a place of a node another serial was found."""

    node: str
    before: Part
    after: Part
    run_id: str

    @property
    def text(self) -> str:
        """For people: `GPU 3: serial A -> B since run R`."""
        return f"{self.after.name}: serial {self.before.serial} -> {self.after.serial} since run {self.run_id}"


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """Another machine has the name of a node; what is recorded before the run is about the first."""

    node: str
    why: str
    run_id: str

    @property
    def text(self) -> str:
        """For people: `another machine than before, since run R: system serial A -> B`."""
        return f"another machine than before, since run {self.run_id}: {self.why}"
