"""The sessions of one BMC: a login by name and password gives a token. In memory, as in a BMC, which loses them at its own restart."""

from __future__ import annotations

import hmac
import secrets
import threading
from dataclasses import dataclass, field

_MOST = 64


@dataclass(slots=True)
class Sessions:
    """Id -> token of each session; the oldest ends where there are too many."""

    tokens: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self) -> tuple[str, str]:
        """The id and the token of a new session."""
        name, token = secrets.token_hex(4), secrets.token_urlsafe(24)
        with self.lock:
            self.tokens[name] = token
            while len(self.tokens) > _MOST:
                del self.tokens[next(iter(self.tokens))]
        return name, token

    def end(self, name: str) -> bool:
        """End a session; False if there is none of that id."""
        with self.lock:
            return self.tokens.pop(name, None) is not None

    def names(self) -> list[str]:
        """The ids, oldest first."""
        with self.lock:
            return list(self.tokens)

    def accept(self, token: str) -> bool:
        """Whether a session has this token."""
        with self.lock:
            return any(hmac.compare_digest(token.encode(), known.encode()) for known in self.tokens.values())
