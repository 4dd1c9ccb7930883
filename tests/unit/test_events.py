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
    assert json.loads(json.dumps(asdict(task) if task else None)) == expected["task"]
    assert ({k: asdict(v) for k, v in stats.items()} if stats is not None else None) == expected["stats"]


def test_of_a_task_with_no_log_only_the_result_is_printed() -> None:
    event = load(ROOT / "tests" / "cases" / "events" / "failed_no_log" / "event.json")
    assert "hunter2" in event["stdout"], "as ansible-core 2.19 prints it"
    text = events.printed(event)
    assert [line.split("=>")[0] for line in text.splitlines()] == ["\x1b[0;31mfatal: [r12-n01]: FAILED! ", "\x1b[0;36m...ignoring\x1b[0m"]
    lines = [
        "",
        "TASK [marker : Secret] ***",
        "[ERROR]: hunter2",
        "fatal: [n1]: FAILED! => {",
        '    "censored": "x",',
        '    "changed": true',
        "}",
    ]
    verbose = {"event": "runner_on_failed", "stdout": "\r\n".join(lines), "event_data": {"res": {"censored": "x"}}}
    assert events.printed(verbose).split("\n") == [line for line in lines if line and "hunter2" not in line]
    item = {
        "event": "runner_item_on_failed",
        "stdout": "[ERROR]: hunter2\r\nfailed: [n1] (item=x)",
        "event_data": {"res": {"censored": "x"}},
    }
    assert events.printed(item) == "failed: [n1] (item=x)"
    loop = {"stdout": "[ERROR]: hunter2", "event_data": {"res": {"results": [{"censored": "x"}]}}}
    assert events.printed(loop) == ""


def test_other_events_are_printed_as_they_are() -> None:
    for case in CASES:
        event = load(case / "event.json")
        if case.name != "failed_no_log":
            assert events.printed(event) == (event.get("stdout") or "")


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


@pytest.mark.parametrize(("value", "texts"), [(["a: 1", 2], ("a: 1", "2")), ([], ()), ("a: 1", ()), (None, ())])
def test_settings_that_wait_are_read(value: Any, texts: tuple[str, ...]) -> None:
    res = {"ansible_facts": {"ofed_settings_waiting": value}}
    task = events.parse_event({"event": "runner_on_ok", "event_data": {"host": "a", "task": "t", "res": res}})
    assert task is not None
    assert task.waiting == {"ofed": texts}
