"""What the controller needs of an event: the rest of a result that is neither a change nor a failure stays on the node. Pure."""

from __future__ import annotations

from typing import Any

_DATA = ("host", "role", "task", "task_action", "ignore_errors", "duration", "processed", "ok", "changed", "failures", "dark")
_RESULT = ("changed", "censored", "diff")
_FACTS = ("_reboot_required", "_apply_again", "_settings_waiting")
_WHOLE = frozenset({"runner_on_failed", "runner_on_unreachable", "runner_retry"})
_COUNTED = frozenset({"runner_on_start", "runner_on_ok", "runner_on_skipped", "playbook_on_stats"})


def trimmed(event: dict[str, Any]) -> dict[str, Any] | None:
    """The event as the controller reads it; None where it would read nothing."""
    kind, printed = event.get("event", ""), event.get("stdout") or ""
    data = event.get("event_data")
    short = {"event": kind, "stdout": printed}
    if kind not in _WHOLE and kind not in _COUNTED and not printed:
        return None
    if not isinstance(data, dict):
        return short
    counted = kind in _WHOLE or kind in _COUNTED
    kept = {name: data[name] for name in _DATA if name in data} if counted else {}
    if "res" in data:  # of every event: whether it is censored decides what of its text may be kept
        kept["res"] = data["res"] if kind in _WHOLE else _result(data["res"])
    return {**short, "event_data": kept} if kept or counted else short


def _result(result: Any) -> Any:
    if not isinstance(result, dict):
        return {}
    kept = {name: result[name] for name in _RESULT if name in result}
    facts = result.get("ansible_facts")
    if isinstance(facts, dict):
        found = {name: value for name, value in facts.items() if str(name).endswith(_FACTS)}
        kept |= {"ansible_facts": found} if found else {}
    items = result.get("results")
    if isinstance(items, list):
        kept["results"] = [_result(one) for one in items]
    return kept
