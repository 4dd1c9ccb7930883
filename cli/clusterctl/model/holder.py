"""The process behind a lease or a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, precisely enough that a reused pid or a rebooted host is not mistaken for it.

    Attributes:
        host: host name.
        pid: process id in the holder's pid namespace.
        mark: `<boot id>/<pid namespace>/<start time in ticks>`; empty where /proc does not show it.
    """

    host: str
    pid: int
    mark: str
