"""The sessions of one BMC: a login by name and password gives a token. In memory, as in a BMC, which loses them at its own restart."""

from __future__ import annotations

import hmac
import secrets
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl_lab.bmc.accounts import Account

_MOST = 64


@dataclass(slots=True)
class Sessions:
    """Id -> token and account of each session; the oldest ends where there are too many."""

    logins: dict[str, tuple[str, Account]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self, account: Account) -> tuple[str, str]:
        """The id and the token of a new session of an account."""
        name, token = secrets.token_hex(4), secrets.token_urlsafe(24)
        with self.lock:
            self.logins[name] = token, account
            while len(self.logins) > _MOST:
                del self.logins[next(iter(self.logins))]
        return name, token

    def end(self, name: str) -> bool:
        """End a session; False if there is none of that id."""
        with self.lock:
            return self.logins.pop(name, None) is not None

    def users(self) -> dict[str, str]:
        """Id -> user, oldest first."""
        with self.lock:
            return {name: account.user for name, (_, account) in self.logins.items()}

    def account_of(self, token: str) -> Account | None:
        """The account of the session with this token; None if there is none."""
        with self.lock:
            return next((a for known, a in self.logins.values() if hmac.compare_digest(token.encode(), known.encode())), None)
