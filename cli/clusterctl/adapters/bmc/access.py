"""How to reach a BMC. The password is only in memory and in no `repr`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BmcAccess:
    """The inventory variables of one BMC.

    Attributes:
        ca_file: PEM file of the authority that signed its certificate; empty = the authorities that the controller trusts.
        readonly_user, readonly_password: an account that may only read, to see whether the BMC enforces that; empty if the site has none.
        readonly_problem: why it cannot be used, which is not a reason not to use the other.
        problem: why it cannot be queried (no URL, a password that cannot be decrypted); empty if it can.
    """

    node: str
    url: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    readonly_user: str = ""
    readonly_password: str = field(default="", repr=False)
    readonly_problem: str = ""
    problem: str = ""
