"""A power supply or a fan of a machine, as its BMC shows it. Needs no BMC, so that validators can import it on nodes."""

from dataclasses import dataclass

KINDS = ("power_supplies", "fans")


@dataclass(frozen=True)
class ChassisPart:
    """A part that is in place.

    Attributes:
        name: as the BMC names it; parts of one name are numbered.
        health: `OK`, `Warning`, `Critical`; empty where the BMC states none.
        without_input: whether it is a power supply whose line is lost or out of range.
    """

    name: str
    health: str
    without_input: bool = False
