"""The targets of the measured numbers, and the table that compares them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """The target of one number.

    Attributes:
        less: whether less is better.
        part: the part of the suite that measures it.
        floor: key of the number that is its lower bound for any implementation; empty if none is measured.
    """

    limit: float
    less: bool
    unit: str
    part: str
    floor: str = ""


TARGETS = {
    "drift_controller_ms_per_node": Target(15, True, "ms", "fleets", "floor_exec_ms_per_node"),
    "ratio_drift_floor": Target(2.5, True, "x", "fleets"),
    "drift_node_cpu_s": Target(1, True, "s per 100 checks", "lab.node", "floor_node_cpu_s"),
    "ratio_ansible_check": Target(300, False, "x", "lab.ansible.tuned", "floor_ratio_ansible_check"),
    "ratio_testinfra_best": Target(60, False, "x", "lab.testinfra", "floor_ratio_testinfra_best"),
    "ratio_pyinfra_dry": Target(30, False, "x", "lab.pyinfra", "floor_ratio_pyinfra_dry"),
    "drift_12500_cpu_s": Target(200, True, "s", "fleets", "floor_exec_12500_cpu_s"),
    "drift_12500_rss_mib": Target(300, True, "MiB", "fleets"),
    "spec_12500_s": Target(10, True, "s", "specs"),
    "help_cpu_ms": Target(100, True, "ms", "start_up", "floor_python_cpu_ms"),
    "status_12500_cpu_ms": Target(300, True, "ms", "start_up", "floor_status_cpu_ms"),
    "runner_overhead_pct": Target(3, True, "%", "lab.runner.unchanged"),
    "runner_overhead_changed_pct": Target(3, True, "%", "lab.runner.changed"),
    "apply_unchanged_controller_ms_per_node": Target(100, True, "ms", "lab.apply"),
    "ratio_apply_unchanged_ansible": Target(200, False, "x", "lab.apply"),
    "ratio_apply_node_cpu": Target(0.7, True, "x", "lab.apply"),
    "ratio_apply_total_cpu": Target(0.35, True, "x", "lab.apply"),
    "runner_files": Target(99, True, "files", "lab.runner"),
    "run_files": Target(99, True, "files", "lab.runner.unchanged"),
}


def ratios(numbers: Numbers) -> Numbers:
    """Controller CPU per node of the peers divided by that of `drift`, and that of `drift` by the bare SSH exchange; None if one of them is missing.

    The floor of a peer's ratio is its value if `drift` cost no more than the bare SSH exchange.
    """
    best = {
        "ansible_check": ("ansible_check",),
        "ansible_check_default": ("ansible_check_default",),
        "ansible_mitogen": ("ansible_mitogen",),
        "testinfra_best": ("testinfra_ssh", "testinfra_paramiko", "testinfra_ansible"),
        "pyinfra_dry": ("pyinfra_dry",),
    }
    made: Numbers = {}
    for name, peers in best.items():
        costs = [numbers.get(f"{p}_controller_s_per_node") for p in peers]
        known = [c for c in costs if c is not None]
        for key, base in ((f"ratio_{name}", "drift_controller_ms_per_node"), (f"floor_ratio_{name}", "floor_exec_ms_per_node")):
            # The best of several peers is known only if all of them were measured.
            whole = len(known) == len(costs) and numbers.get(base)
            made[key] = 1000 * min(known) / numbers[base] if whole else None
    own, floor = numbers.get("drift_controller_ms_per_node"), numbers.get("floor_exec_ms_per_node")
    return made | {"ratio_drift_floor": own / floor if own and floor else None}


def verdict(key: str, value: float | None) -> str:
    """`met`, the percentage by which the target is missed, or that there is no number."""
    target = TARGETS[key]
    if value is None:
        return "NO NUMBER"
    if (value <= target.limit) if target.less else (value >= target.limit):
        return "met"
    return f"MISSED by {100 * abs(value - target.limit) / target.limit:.0f} %"


def missing_reason(key: str, reasons: dict[str, str]) -> str:
    """Why a number is missing: the reason of its part, or of a part that it depends on."""
    part = TARGETS[key].part
    needed = ("fleets",) if key.startswith("ratio_") else ()
    found = {name: why for name, why in reasons.items() if part.startswith(name) or name.startswith((part, *needed))}
    if part.startswith("lab."):
        found |= {name: why for name, why in reasons.items() if name == "lab.peers" and key.startswith("ratio_")}
    return "; ".join(f"{name}: {why}" for name, why in found.items()) or f"{part} was not selected, or was measured with another size"


def table(numbers: Numbers) -> str:
    """A table of the numbers that have a target."""
    lines = [f"{'number':<30}{'measured':>10}{'target':>10}  {'':<16}{'floor':>8}  unit"]
    for key, target in TARGETS.items():
        value, floor = numbers.get(key), numbers.get(target.floor) if target.floor else None
        shown = "-" if value is None else f"{value:.4g}"
        below = "-" if floor is None else f"{floor:.1f}"
        limit = ("<= " if target.less else ">= ") + format(target.limit, "g")
        lines.append(f"{key:<30}{shown:>10}{limit:>10}  {verdict(key, value):<16}{below:>8}  {target.unit}")
    return "\n".join(lines)


def work_per_node(numbers: Numbers) -> str:
    """The work that each tool did per node, to show how far the numbers are comparable."""
    lines = []
    for peer, of in (
        ("ansible_check", "tasks"),
        ("ansible_check_default", "tasks"),
        ("ansible_mitogen", "tasks"),
        ("testinfra_ssh", "checks"),
        ("testinfra_paramiko", "checks"),
        ("testinfra_ansible", "checks"),
        ("pyinfra_dry", "operations"),
    ):
        if (cost := numbers.get(f"{peer}_controller_s_per_node")) is not None:
            lines.append(f"{peer:<24}{numbers[f'{peer}_{of}']:>6} {of:<12}{1000 * cost:>9.0f} ms of controller CPU per node")
    lines += [
        f"{'drift, ' + str(one['nodes']) + ' nodes':<24}{one['checks']:>6} {'checks':<12}{one['cpu_s']:>9.1f} s of controller CPU in all"
        for one in numbers.get("fleets", [])
    ]
    return "\n".join(lines)
