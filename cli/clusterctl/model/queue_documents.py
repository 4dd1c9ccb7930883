"""The documents of the queue: what `provision --queue` queued, and what is being done."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 pydantic reads the annotations when the schemas are generated
from dataclasses import dataclass

from clusterctl.model.shard import Shard, Worker  # noqa: TC001 as above


@dataclass(frozen=True, slots=True)
class QueuedDocument:
    """clusterctl provision TARGET --queue -o json, and --cancel ORDER."""

    shards: tuple[Shard, ...]


@dataclass(frozen=True, slots=True)
class RunInProgress:
    """A run without a recorded end whose process may be at work.

    Attributes:
        phases: phase -> how many of its nodes are in it; the empty phase for those that it has not begun with.
    """

    id: str
    verb: str
    target: str
    operator: str
    started_at: str
    phases: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CurrentRunsDocument:
    """clusterctl status --runs -o json.

    Attributes:
        shards: those that have not ended, and those that ended within a day.
        workers: those that have not ended; `seen_at` shows which of them were lost.
    """

    runs: tuple[RunInProgress, ...]
    shards: tuple[Shard, ...]
    workers: tuple[Worker, ...]
