"""A machine over its limit serves again only after a burn-in of level full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.core.lemons.demands import due_records, owes_full
from clusterctl.core.lemons.scores import trouble_records
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.level import LEVELS
from clusterctl.model.state import State
from clusterctl.model.trouble import TroubleSources
from clusterctl.model.trouble_counts import TroubleCounts
from clusterctl.model.verdict import ReasonKind
from clusterctl.workflows.drain import drain
from support.provisioning import World
from support.troubles import DEFAULT_LIMITS, NOW, bad_result, span

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.model.level import Level

N1 = "r12-n01"
LIGHT = tuple(level for level in LEVELS if level != "full")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A rack in which one exclusion is one too many, and n01 was excluded once."""
    world = World(tmp_path, lemon_limits=TroubleCounts(exclusions=1), gate_fails={N1})
    world.run()
    world.gate_fails.clear()
    assert world.states()[N1] is State.QUARANTINED
    return world


@pytest.mark.parametrize("level", LIGHT)
def test_a_lighter_burn_in_is_not_even_begun(world: World, level: Level) -> None:
    before = len(world.calls)
    result = world.run(retest=True, level=level)
    assert world.states() == {N1: State.QUARANTINED, "r12-n02": State.ADMITTED, "r12-n03": State.ADMITTED}
    assert result.exit_code is ExitCode.CHANGES_PENDING
    (left,) = [n for n in result.nodes if n.node == N1]
    assert left.reasons[0].kind is ReasonKind.GATE_MISSING
    assert "1 exclusion in 90 days" in left.reason
    assert "--level full" in left.reasons[0].hint
    assert {what for what, _ in world.calls[before:]} == {"validate"}


def test_the_full_level_admits_it_and_an_admitted_node_is_left_alone(world: World) -> None:
    assert world.run(N1, retest=True, level="full").exit_code is ExitCode.OK
    assert world.states()[N1] is State.ADMITTED
    assert world.run(N1).exit_code is ExitCode.OK, "an admitted node that is as declared owes nothing now"


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_measured_at_another_level_admits_nothing(tmp_path: Path, level: Level) -> None:
    """Drained, and over its limit since: its record is of the level at which it was measured."""
    world = World(tmp_path)
    world.run(level=level)
    with Store.open(world.url) as store:
        drain(store, LocalPool.create(store), store.nodes([N1]), operator="ada", reason="drift", cause=ReasonKind.CHECK_FAILED)
    world.lemon_limits = TroubleCounts(exclusions=1)
    (admission,) = world.admit(N1)
    assert admission.verdict.admit is (level == "full")
    assert world.states()[N1] is (State.ADMITTED if level == "full" else State.DRAINED)


def test_a_part_that_was_replaced_owes_nothing_and_one_that_came_in_does() -> None:
    results = [bad_result(n, "warn", "below_peers", "rate", "gpu3", f"r{n}") for n in range(2, 10)]
    old, new = span("gpu", "s", "GPU 3", "OLD", "n1", 1), span("gpu", "s", "GPU 3", "NEW", "n1", None)
    sources = TroubleSources((), results, (), (old, new, span("gpu", "t", "GPU 0", "OLD", "n2", None)))
    only_parts = tuple(r for r in trouble_records(sources, DEFAULT_LIMITS, NOW) if r.kind == "gpu")
    due = due_records(only_parts, sources.parts, ["n1", "n2", "n3"])
    assert {node: r.serial for node, r in due.items()} == {"n2": "OLD"}


def test_results_from_before_levels_were_recorded_are_not_enough() -> None:
    sources = TroubleSources((), [bad_result(n, "warn", "below_peers", "rate", "", f"r{n}") for n in range(2, 10)])
    (record,) = trouble_records(sources, DEFAULT_LIMITS, NOW)
    assert [owes_full(record, levels) for levels in ({""}, {"", "full"}, (), {"standard"}, {"full"})] == [True, True, True, True, False]
    assert not owes_full(None, {""})
