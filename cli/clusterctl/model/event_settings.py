"""Who gets events, as clusterctl.yml declares it."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class EventReceiver:
    """One receiver: a webhook or a command.

    Attributes:
        name: of the receiver, in dead letters.
        webhook: URL for POST; empty for a command, or where `webhook_env` has it.
        webhook_env: the environment variable with the URL, where the URL itself is a secret.
        token_env: the environment variable with a bearer token; empty = none is sent.
        command: argument list that gets the event on stdin; empty for a webhook.
        types: patterns of event types; it gets no other events.
        timeout_s: for one attempt as a whole.
        attempts: how often an event is tried.
    """

    name: str
    webhook: str = ""
    webhook_env: str = ""
    token_env: str = ""
    command: tuple[str, ...] = ()
    types: tuple[str, ...] = ("*",)
    timeout_s: float = 10
    attempts: int = 5

    def wants(self, kind: str) -> bool:
        """Whether it gets events of this type."""
        return any(fnmatchcase(kind, pattern) for pattern in self.types)


@dataclass(frozen=True, slots=True)
class EventSettings:
    """All receivers. `source` names the site in every event; empty = the name of this host does."""

    receivers: tuple[EventReceiver, ...] = ()
    source: str = ""
