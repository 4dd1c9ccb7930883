from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.ansible import events
from clusterctl.model.task_event import TaskStatus
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CASES = sorted((ROOT / "tests" / "cases" / "events").iterdir())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def load(file: Path) -> Any:
    return json.loads(file.read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_recorded_event_parses_as_expected(case: Path) -> None:
    event, expected = load(case / "event.json"), load(case / "expected.json")
    task, stats = events.parse_event(event), events.parse_stats(event)
    assert (asdict(task) if task else None) == expected["task"]
    assert ({k: asdict(v) for k, v in stats.items()} if stats is not None else None) == expected["stats"]


def test_cases_cover_every_status() -> None:
    seen = {load(c / "expected.json")["task"]["status"] for c in CASES if load(c / "expected.json")["task"]}
    assert seen == {s.value for s in TaskStatus}


@given(JSON)
def test_the_parser_accepts_any_module_result(res: Any) -> None:
    for kind in ("runner_on_ok", "runner_on_failed", "runner_on_unreachable", "runner_on_skipped"):
        task = events.parse_event({"event": kind, "event_data": {"host": "r12-n01", "task": "t", "res": res}})
        assert task is not None
        assert task.node == "r12-n01"
        assert len(task.message) <= 600


@pytest.mark.parametrize("event", [{}, {"event": "EOF"}, {"event": "runner_on_ok"}, {"event": "runner_on_ok", "event_data": {"task": "t"}}])
def test_an_event_without_node_is_not_a_task_event(event: dict[str, Any]) -> None:
    assert events.parse_event(event) is None


def test_reboot_facts_of_all_loop_items_are_read() -> None:
    res = {"results": [{"ansible_facts": {"kernel_reboot_required": "True"}}, {"ansible_facts": {"hugepages_reboot_required": False}}]}
    task = events.parse_event({"event": "runner_on_ok", "event_data": {"host": "a", "task": "t", "res": res}})
    assert task is not None
    assert task.reboot == {"kernel": True, "hugepages": False}
