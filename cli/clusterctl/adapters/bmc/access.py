"""How to reach a BMC. The password lives in memory only, and shows itself nowhere."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BmcAccess:
    """What the inventory says of one BMC.

    Attributes:
        ca_file: PEM file of the authority that signed its certificate; empty = those the controller trusts.
        problem: why it cannot be asked (no URL, a password that cannot be decrypted); empty if it can.
    """

    node: str
    url: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    problem: str = ""
