"""Floors of profiles from the recorded burn-ins of nodes. Contacts no node and changes no record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.adapters.store import Store
from clusterctl.core.gates.learning import learn_floors
from clusterctl.core.gates.subject import subject_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.gate_result import Baseline
    from clusterctl.model.learned import Learned
    from clusterctl.model.node import Node


def declared_baselines(nodes: Sequence[Node]) -> tuple[Baseline, ...]:
    """The baselines of the nodes' profiles, each once, by gate and metric.

    Raises:
        GatesInvalidError: a profile is invalid, or one of its baselines has expired.
    """
    today = datetime.now(UTC).date()
    found = {repr(b): b for node in nodes for b in subject_of(node, today).profile.baselines}
    return tuple(sorted(found.values(), key=lambda b: (b.figure, b.kind, b.value)))


def learn_baselines(config: Config, nodes: Sequence[Node]) -> tuple[Learned, ...]:
    """For each floor of the nodes' profiles, what the current evidence of the nodes supports. Values of a lab are not evidence about hardware.

    Raises:
        GatesInvalidError: a profile is invalid.
        StoreError: the database cannot be read.
    """
    today = datetime.now(UTC).date()
    subjects = [subject_of(node, today) for node in nodes]
    with Store.open_to_read(config.store_url) as store:
        known = {r.name for r in store.nodes([s.name for s in subjects])}
        results = {s.name: store.gate_results(s.name, current=True) for s in subjects if s.name in known}
    return learn_floors(subjects, results, today)
