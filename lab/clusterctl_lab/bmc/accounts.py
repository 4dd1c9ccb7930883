"""Accounts of a BMC: those with the role Administrator may change things, those with ReadOnly may not (DSP8011)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Account:
    """One account."""

    user: str
    password: str = field(repr=False)
    may_change: bool = True


def account_of(accounts: Iterable[Account], given: bytes) -> Account | None:
    """The account with these credentials, `NAME:PASSWORD`; None if there is none."""
    return next((a for a in accounts if hmac.compare_digest(given, f"{a.user}:{a.password}".encode())), None)
