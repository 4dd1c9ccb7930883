"""Limits and options of a validation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from clusterctl.adapters.config_keys import CPU_QUOTA_PERCENT
from clusterctl.core.waivers import may_match

_MARGIN_S = 30.0


@dataclass(frozen=True, slots=True)
class ValidationSettings:
    """Limits of a validation.

    Attributes:
        concurrency: nodes validated at the same time.
        connect_timeout_s: until the login is complete; after that the node is unreachable.
        node_timeout_s: for everything on one node; other nodes are not delayed.
        pauses_s: before each further attempt to reach a node that answered and broke off, as while its sshd restarts; within `node_timeout_s`.
        check_timeout_s: for one check function on the node.
        cpu_quota_percent: of one core, for all checks of a node together; 0 = none.
        only: globs over check ids, or names of roles; empty = all.
        today: the date that waivers are compared with; None = now (UTC).
    """

    concurrency: int = 64
    connect_timeout_s: float = 15.0
    node_timeout_s: float = 180.0
    # Assumed: the sshd of a node that answered, and its network, are back four seconds later.
    pauses_s: tuple[float, ...] = (1.0, 3.0)
    check_timeout_s: float = 20.0
    cpu_quota_percent: int = CPU_QUOTA_PERCENT
    only: tuple[str, ...] = ()
    today: date | None = None

    @property
    def checks_timeout_s(self) -> float:
        """For all checks of a node: less than the node's time, so that it can still send its answer."""
        return max(self.node_timeout_s - _MARGIN_S, self.node_timeout_s / 2)

    @property
    def globs(self) -> tuple[str, ...]:
        """`only` as globs over check ids."""
        return tuple(one if set(one) & set(".*?") else f"{one}.*" for one in self.only)

    def selects(self, role: str) -> bool:
        """Whether `only` can mean a check of this role."""
        return not self.only or any(may_match(glob, role) for glob in self.globs)

    @property
    def day(self) -> date:
        """The date that waivers are compared with."""
        return self.today or datetime.now(UTC).date()
