"""The password that a node's sudo asks for. It lives in memory only, and shows itself nowhere."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BecomePassword:
    """What the inventory says of it.

    Attributes:
        value: empty = there is none, and sudo must not ask.
        problem: why it cannot be had (it cannot be decrypted); empty if it can.
    """

    node: str
    value: str = field(default="", repr=False)
    problem: str = ""
