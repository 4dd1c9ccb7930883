"""The sudo password of a node. It is kept in memory only and never shown."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BecomePassword:
    """The password from the inventory.

    Attributes:
        value: empty = there is none, and sudo must not prompt.
        problem: why it cannot be had (it cannot be decrypted); empty if it can.
    """

    node: str
    value: str = field(default="", repr=False)
    problem: str = ""
