"""What an event loses on the node, the controller would not have read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.ansible import events
from clusterctl_on_node.trim import trimmed
from support.roles import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "events").iterdir())
KINDS = (
    "runner_on_start",
    "runner_on_ok",
    "runner_on_failed",
    "runner_on_skipped",
    "runner_on_unreachable",
    "playbook_on_stats",
    "runner_item_on_failed",
    "verbose",
)
RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "changed": st.booleans(),
        "censored": st.text(max_size=4),
        "msg": st.text(max_size=8),
        "stdout": st.text(max_size=8),
        "diff": st.just({"before": "a\n", "after": "b\n"}),
        "ansible_facts": st.dictionaries(
            st.sampled_from(["ofed_reboot_required", "x_apply_again", "x_settings_waiting", "secret"]), st.booleans()
        ),
    },
)
DATA = st.fixed_dictionaries(
    {},
    optional={
        "host": st.just("n1"),
        "task": st.text(max_size=6),
        "role": st.text(max_size=6),
        "ignore_errors": st.booleans(),
        "duration": st.floats(0, 9),
        "res": RESULTS | st.builds(lambda r, items: {**r, "results": items}, RESULTS, st.lists(RESULTS, max_size=3)) | st.text(max_size=3),
        "processed": st.just({"n1": 1}),
        "ok": st.just({"n1": 3}),
    },
)
EVENTS = st.fixed_dictionaries(
    {"event": st.sampled_from(KINDS), "stdout": st.text(max_size=8)}, optional={"event_data": DATA, "uuid": st.just("u")}
)


def same(event: dict[str, Any]) -> None:
    kept = trimmed(json.loads(json.dumps(event)))
    task, stats, text = events.parse_event(event), events.parse_stats(event), events.printed(event)
    if kept is None:
        assert (task, stats, text) == (None, None, "")
    else:
        assert (events.parse_event(kept), events.parse_stats(kept), events.printed(kept)) == (task, stats, text)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_recorded_event_is_read_as_before(case: Any) -> None:
    same(json.loads((case / "event.json").read_text()))


@given(EVENTS)
def test_every_event_is_read_as_before(event: dict[str, Any]) -> None:
    same(event)


def test_the_result_of_a_task_that_changed_nothing_stays_on_the_node() -> None:
    event = {
        "event": "runner_on_ok",
        "event_data": {"host": "n1", "res": {"changed": False, "content": "x" * 9000, "ansible_facts": {"a": 1}}},
    }
    kept = trimmed(event)
    assert kept is not None
    assert kept["event_data"]["res"] == {"changed": False}
