"""Shards: the parts of a queued provisioning, one rack each, and the token that a worker needs to change one."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 pydantic reads the annotations when the schemas are generated
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.model.records import RunRow


# how often a worker writes at least that it runs
SEEN_EVERY_S = 10.0


class ShardKind(StrEnum):
    """What is done with the nodes of a shard: those of a rack are provisioned; across the racks of an order, groups of admitted nodes are measured."""

    PROVISION = "provision"
    ACROSS = "across"


class ShardState(StrEnum):
    """QUEUED -> RUNNING -> DONE or FAILED, or QUEUED -> CANCELLED; WAITING -> QUEUED when the racks of the order have ended. A shard whose worker was lost is RUNNING until another worker takes it."""

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({ShardState.DONE, ShardState.FAILED, ShardState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write for a shard. Each worker that takes the shard gets a higher token, and the store refuses the older ones.

    https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html, "Making the lock safe with fencing".
    """

    shard_id: int
    token: int


@dataclass(frozen=True, slots=True)
class Shard:
    """The nodes of one rack that one worker provisions, or those of all racks of an order at one site, which one worker measures.

    Attributes:
        id: given by the store; 0 before.
        order_id: of the command that queued it.
        site: whose workers take it; empty where the inventory declares none.
        content: the digest of roles, playbooks, validators and inventory that a worker must have.
        options: `ProvisionOptions.to_json`, without secrets.
        token: how often a worker has taken it.
        failures: how often its process ended without a result; lost workers do not count.
        worker: the one that took it last.
        run_id: its run: the one in progress, or the one that ended it.
        exit_code: of that run; None before.
        detail: why it failed or was queued again; may be empty.
    """

    order_id: str
    site: str
    rack: str
    nodes: tuple[str, ...]
    content: str
    operator: str
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: ShardKind = ShardKind.PROVISION
    id: int = 0
    state: ShardState = ShardState.QUEUED
    token: int = 0
    failures: int = 0
    worker: str = ""
    run_id: str = ""
    exit_code: int | None = None
    detail: str = ""
    queued_at: str = ""
    started_at: str = ""
    ended_at: str = ""

    @property
    def fence(self) -> Fence:
        """The right of the worker that has it now."""
        return Fence(self.id, self.token)

    @property
    def ended(self) -> bool:
        """Whether nobody will work on it again."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that takes shards.

    Attributes:
        content: the digest of what it has; it takes only shards for it.
        jobs: how many shards it works on at a time.
        seen_at: when it last wrote that it runs.
    """

    name: str
    site: str
    content: str
    jobs: int
    started_at: str = ""
    seen_at: str = ""


@dataclass(frozen=True, slots=True)
class RunsOverview:
    """What is being done, and what waits.

    Attributes:
        runs: those in progress, oldest first.
        phases: run -> phase -> how many of its nodes are in it; the empty phase for those that it has not begun with.
        shards: those that have not ended, and the others of the newest orders.
        now: when it was read, to compute how long ago a worker was seen.
    """

    runs: Sequence[RunRow]
    phases: Mapping[str, Mapping[str, int]]
    shards: Sequence[Shard]
    workers: Sequence[Worker]
    now: str
