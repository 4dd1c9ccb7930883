"""Plans for people: Terraform-like lines, nodes with equal plans grouped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterctl.model.errors import ConfigError
from clusterctl.model.findings import NodeStatus, status_hints
from clusterctl.model.running_text import counted, fold_names
from clusterctl.terminal import messages, out
from clusterctl.terminal.findings import one_line
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.core.check_mode import CheckMode, TaskChange
    from clusterctl.model.plan import Change, NodePlan, Plan
    from clusterctl.model.playbook_result import HostOutcome, PlaybookResult


def show_plan(plan: Plan, body: dict[str, Any], output: str) -> None:
    """Print a plan from findings."""
    if output != "table":
        out.emit(output, "plan", body)
        return
    groups: dict[tuple[str, ...], list[str]] = {}
    hints = status_hints((n.node, n.status) for n in plan.nodes)
    for node in plan.nodes:
        groups.setdefault(_lines(node, hints), []).append(node.node)
    lines = [line for lines_of_node, names in groups.items() if lines_of_node for line in (fold_names(names), *lines_of_node, "")]
    if plan.lost:
        lines.append(f"Nothing is known of {len(plan.lost)} of {len(plan.nodes)} nodes.")
    if body.get("refused"):
        lines.append(f"`clusterctl provision` would refuse it without --force: {body['refused']}.")
    out.print_text("\n".join([*lines, plan_summary(plan)]))


def plan_summary(plan: Plan) -> str:
    """The last line: what would change, and what else `provision` would do."""
    burn_in = sum(not n.roles for n in plan.to_provision)
    more = f" {counted(burn_in, 'node')} would only be burned in." if burn_in else ""
    more += f" {counted(len(plan.to_quarantine), 'node')} would be quarantined." if plan.to_quarantine else ""
    return f"Plan: {counted(len(plan.to_change), 'node')}, {counted(len(plan.roles), 'role')} to change.{more}"


def _lines(node: NodePlan, hints: Mapping[str, str]) -> tuple[str, ...]:
    if node.status is not NodeStatus.OK:
        hint = (f"    hint: {hints[node.node]}",) if node.node in hints else ()
        return (f"  ? {node.status.value.replace('_', ' ')}: {node.detail}", *hint)
    lines = [_line(c) for c in node.changes]
    if lines and not node.changing_roles:
        lines.append(f"  not changed: {printable(node.why)}")
    if node.unknown:
        lines += [f"  ? {u.check}: {one_line(u.reason)}" for u in node.unknown]
    if node.beyond_roles:
        lines.append("  cannot be changed by a role:")
        lines += [f"  ! {c.check}: found {one_line(c.found) or 'nothing'}, expected {one_line(c.expected)}" for c in node.beyond_roles]
    return tuple(lines)


def _line(change: Change) -> str:
    if not change.found:
        return f"  + {change.check}: {one_line(change.expected)}"
    if not change.expected:
        return f"  - {change.check}: {one_line(change.found)}"
    return f"  ~ {change.check}: {one_line(change.found)} -> {one_line(change.expected)}"


def show_check_mode(found: CheckMode, outcome: PlaybookResult, body: dict[str, Any], output: str) -> None:
    """Print what Ansible's check mode would change."""
    if output != "table":
        out.emit(output, "plan_ansible", body)
        return
    lines: list[str] = []
    for host in outcome.hosts.values():
        lines_of_node = _host(host, [c for c in found.changes if c.node == host.node])
        lines += [host.node, *lines_of_node, ""] if lines_of_node else []
    out.print_text("\n".join([*lines, outcome.command_line, found.summary]))


def _host(host: HostOutcome, changes: Sequence[TaskChange]) -> list[str]:
    lines: list[str] = []
    for change in changes:
        lines.append(f"  ~ {change.role or 'playbook'}: {change.task}")
        lines += [f"      {_harmless(line)}" for line in change.diff.splitlines()]
    lines += [f"  ! {f.role or 'playbook'}: {f.task}: {one_line(f.message)}" for f in host.failures]
    if not lines and host.status.value != "ok":
        lines.append(f"  ! {host.status.value.replace('_', ' ')}")
    return lines


def _harmless(line: str) -> str:
    """A line of a node's file without terminal control characters."""
    return line if line.isprintable() else "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line)


def save(body: Mapping[str, Any], kind: str, wanted: Path | None) -> None:
    """Write a plan to a file, if one is given.

    Raises:
        ConfigError: it cannot be written.
    """
    if wanted is None:
        return
    text = json.dumps(out.envelope(kind, body), indent=2, ensure_ascii=False) + "\n"
    try:
        wanted.write_text(text, encoding="utf-8")
    except OSError as e:
        raise ConfigError(detail=f"{wanted}: {e.strerror}", hint="choose another file for --out") from e
    messages.note(f"plan written to {wanted}")
