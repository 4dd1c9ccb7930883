"""Parses the event dictionaries of ansible-runner into typed task events. Pure; used by the live view, run outcomes and `plan --ansible`."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.model.task_event import HostStats, TaskEvent, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REBOOT_SUFFIX = "_reboot_required"
AGAIN_SUFFIX = "_apply_again"
WAITING_SUFFIX = "_settings_waiting"
_MESSAGE_LIMIT = 600
_HEAD = 150
# of a task with no_log: its banner and its censored result
_HARMLESS_LINE = re.compile(
    r"(?:\x1b\[[\d;]*m)*(?:TASK \[|RUNNING HANDLER \[|task path: |(?:changed|fatal|failed|ok|skipping): \[|\s+\"(?:censored|changed)\": |}|\.\.\.ignoring)"
)

_STATUS = {
    "runner_on_start": TaskStatus.STARTED,
    "runner_on_ok": TaskStatus.OK,
    "runner_on_failed": TaskStatus.FAILED,
    "runner_on_skipped": TaskStatus.SKIPPED,
    "runner_on_unreachable": TaskStatus.UNREACHABLE,
    "runner_retry": TaskStatus.RETRY,
}


@dataclass(frozen=True, slots=True)
class AnsibleEvent:
    """What is read of one event.

    Attributes:
        text: what Ansible printed.
        stats: the recap by node; None if it is not the recap.
        task: None if it is of no task.
    """

    text: str = ""
    stats: Mapping[str, HostStats] | None = None
    task: TaskEvent | None = None


def read_event(event: Mapping[str, Any]) -> AnsibleEvent:
    """Everything of `event` that counts."""
    return AnsibleEvent(printed(event), parse_stats(event), parse_event(event))


def printed(event: Mapping[str, Any]) -> str:
    """What Ansible printed; of a task with no_log only its banner and its result.

    ansible-core 2.19 also prints the error message of such a task, with whatever secret it contains.
    """
    text = str(event.get("stdout") or "")
    data = event.get("event_data")
    result = data.get("res") if isinstance(data, dict) else None
    if not isinstance(result, dict) or not any("censored" in one for one in _results(result)):
        return text
    return "\n".join(line for line in text.splitlines() if _HARMLESS_LINE.match(line))


def parse_event(event: Mapping[str, Any]) -> TaskEvent | None:
    """The task event in `event`; None for other kinds of events."""
    status = _STATUS.get(str(event.get("event", "")))
    data = event.get("event_data")
    if status is None or not isinstance(data, dict) or not data.get("host"):
        return None
    result = data.get("res")
    res: dict[str, Any] = result if isinstance(result, dict) else {}
    failed = status in (TaskStatus.FAILED, TaskStatus.UNREACHABLE)
    facts = _facts(res)
    return TaskEvent(
        node=str(data["host"]),
        role=str(data.get("role") or ""),
        task=str(data.get("task") or ""),
        status=status,
        action=str(data.get("task_action") or ""),
        changed=res.get("changed") is True and status is TaskStatus.OK,
        ignored=data.get("ignore_errors") is True,
        diff=_diff(res),
        message=_message(res) if failed else "",
        duration_s=float(data.get("duration") or 0.0),
        reboot={role: _is_true(value) for role, value in _of_roles(facts, REBOOT_SUFFIX)},
        again={role: _is_true(value) for role, value in _of_roles(facts, AGAIN_SUFFIX)},
        waiting={role: _texts(value) for role, value in _of_roles(facts, WAITING_SUFFIX)},
    )


def parse_stats(event: Mapping[str, Any]) -> dict[str, HostStats] | None:
    """The recap by node, without nodes that were not processed; None if `event` is not the recap."""
    if event.get("event") != "playbook_on_stats":
        return None
    data = event.get("event_data")
    if not isinstance(data, dict):
        return None

    def count(key: str, host: str) -> int:
        return int((data.get(key) or {}).get(host, 0))

    return {
        str(host): HostStats(count("ok", host), count("changed", host), count("failures", host), count("dark", host))
        for host in data.get("processed") or {}
    }


def _results(res: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The result and, for a loop, the result of each item."""
    items = res.get("results")
    return [res, *(i for i in items if isinstance(i, dict))] if isinstance(items, list) else [res]


def _facts(res: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Name and value of each fact that the task set."""
    found = (one.get("ansible_facts") for one in _results(res))
    return [(str(name), value) for facts in found if isinstance(facts, dict) for name, value in facts.items()]


def _of_roles(facts: Iterable[tuple[str, object]], suffix: str) -> Iterator[tuple[str, object]]:
    """Role and value of each fact `<role><suffix>`."""
    return ((name.removesuffix(suffix), value) for name, value in facts if name.endswith(suffix))


def _is_true(value: object) -> bool:
    return value is True or str(value).lower() in ("true", "yes", "1")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()


def _message(res: Mapping[str, Any]) -> str:
    if "censored" in res:
        return "hidden by no_log"
    lost = next((one for one in _results(res)[1:] if one.get("unreachable")), None)
    if lost is not None:  # the same for all items; the loop itself prints "All items completed"
        return _message(lost)
    parts: list[str] = []
    for one in _results(res)[::-1]:
        if one is res or one.get("failed"):
            text = next((str(one[k]).strip() for k in ("msg", "stderr", "module_stderr", "reason") if str(one.get(k) or "").strip()), "")
            if one is res and parts and text in ("", "One or more items failed"):
                continue
            label = one.get("_ansible_item_label", one.get("item")) if one is not res else None
            parts.append(f"{label}: {text}" if label is not None else text)
            stderr = str(one.get("stderr") or "").strip()
            if stderr and stderr not in text:
                parts.append(stderr)
    joined = " ".join("; ".join(reversed(parts)).split()).strip("; ") or "no message"
    if len(joined) <= _MESSAGE_LIMIT:
        return joined
    return f"{joined[:_HEAD]} ... {joined[-(_MESSAGE_LIMIT - _HEAD - 5) :]}"  # most tools print the error at the end of their output


def _diff(res: Mapping[str, Any]) -> str:
    parts: list[str] = []
    for one in _results(res):
        found = one.get("diff")
        entries = found if isinstance(found, list) else [found]
        parts.extend(_one_diff(entry) for entry in entries if isinstance(entry, dict))
    return "".join(parts)


def _one_diff(entry: Mapping[str, Any]) -> str:
    if entry.get("prepared"):
        return str(entry["prepared"])
    before, after = (_lines(entry.get(side)) for side in ("before", "after"))
    old, new = (str(entry.get(f"{side}_header") or side) for side in ("before", "after"))
    return "".join(difflib.unified_diff(before, after, old, new, n=1))


def _lines(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    text = value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True, default=str)
    return (text if text.endswith("\n") else text + "\n").splitlines(keepends=True)
