"""One example of each document of the verbs that show a site or change states, as their views print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.check_mode import CheckMode, TaskChange, check_mode_body
from clusterctl.core.parsers import ALIASES, TOOLS
from clusterctl.model.declared_state import InventoryCheck, SpecGroup
from clusterctl.model.doctor_check import Check
from clusterctl.model.gate_result import Baseline, BaselineKind
from clusterctl.model.learned import Cluster, DeviceClass, Learned, NotLearned
from clusterctl.model.move import Move, MoveOutcome, StillRunning
from clusterctl.model.node import NodeSpec
from clusterctl.model.plan import NodePlan, Plan, PlannedAction
from clusterctl.model.playbook_result import HostOutcome, HostStatus, PlaybookResult, PlaybookStatus, TaskFailure
from clusterctl.model.problem import Problem
from clusterctl.model.records import NodeRecord, Verification
from clusterctl.model.state import State
from clusterctl.model.topology import Topology
from clusterctl.model.verdict import Admission, NodeVerdict, Reason, ReasonKind
from clusterctl.terminal import admissions, baselines, doctor, forgotten, moves, plan, profile, samples, summary
from clusterctl_lab import resolve_view
from clusterctl_lab import view as lab_view
from clusterctl_lab.rack import NodeStatus
from clusterctl_lab.resolve import Resolution
from clusterctl_lab.simulator.state import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKS = (Check("python", ok=True, found="3.12", hint="none needed"), Check("ssh", ok=False, found="none", hint="install it"))
SPEC = SpecGroup("profile_x", ("n1",), NodeSpec({"kernel": {"kernel_release": ""}}, {"gates_settings": {}}, (), "d"))
FLOOR = Baseline("rdma_pair", "bandwidth_average", BaselineKind.FLOOR, 380.0, "Gb/s", "Azure", "2025-01-01")
LEARNED = (
    Learned(FLOOR, DeviceClass("H100", (400.0,)), {"n1": 392.0}, 392.0, 0.005, expected=FLOOR, refusal=NotLearned.FEW_NODES),
    Learned(FLOOR, DeviceClass(), {}, proposal=FLOOR, clusters=(Cluster(("n1",), 1.0), Cluster(("n2",), 2.0))),
)
WHY = Reason(ReasonKind.GATE_FAILED, "196 of 400 Gb/s", "mlx5_3", "reseat the cable", "rdma_pair")
REFUSED = Admission(NodeVerdict("n1", admit=False, state=State.QUARANTINED, reasons=(WHY,), notes=(WHY,)), State.REGISTERED)
MOVES = (
    Move("n1", State.ADMITTED, State.DRAINED, "fan", reason_code="person.fan"),
    Move("n2", State.RMA, State.RMA, "it is at the vendor's", MoveOutcome.REFUSED, "release it"),
)
RECORD = NodeRecord("n1", "rack_12", 1, (), State.RETIRED, "gone", "", "", "2026-01-01T00:00:00Z", "profile_x")
PLAN = Plan((NodePlan("n1", PlannedAction.PROVISION, State.REGISTERED, "new", roles=("kernel",)),))
CHANGES = CheckMode([TaskChange("n1", "kernel", "Set the release", "+x")])
FAILED = HostOutcome("n1", HostStatus.FAILED, failures=(TaskFailure("kernel", "Check", "no"),))
REHEARSED = PlaybookResult(PlaybookStatus.COMPLETED, {"n1": FAILED}, "ansible-playbook", 1.0)
LAB_NODE = NodeStatus(
    "n1", "rack-1", "10.0.0.1", "https://10.0.0.2", running=True, bmc=True, image="i", faults=(Fault("gpu_lost", "3"),), hardware="hgx"
)
EXAMPLES: dict[str, Callable[[str], object]] = {
    "admit": lambda output: admissions.show_admissions([REFUSED], output),
    "admit_verify": lambda output: admissions.show_verified([Verification("n1", None, 0, "", ("never admitted",))], output),
    "baselines": lambda output: baselines.in_force(output, [FLOOR]),
    "baselines_measured": lambda output: baselines.measured(output, LEARNED),
    "doctor": lambda output: doctor.checks(output, CHECKS),
    "drain": lambda output: moves.show_drained(MOVES, output, StillRunning({"n1": "job 17"})),
    "forget": lambda output: forgotten.show_forgotten([RECORD], output),
    "lab-status": lambda output: lab_view.show_status([LAB_NODE], output),
    "plan_ansible": lambda output: plan.show_check_mode(CHANGES, REHEARSED, check_mode_body(CHANGES, REHEARSED), output),
    "profile": lambda output: profile.specs(output, [SPEC]),
    "profile_check": lambda output: profile.checked(output, InventoryCheck(1, 1, ("profile_y",))),
    "profiles": lambda output: profile.profiles(output, Topology({"profile_x": ("n1",)}, {}, ())),
    "provision-plan": lambda output: summary.show_provision_plan(PLAN, output),
    "release": lambda output: moves.show_released(MOVES, output),
    "resolve": lambda output: resolve_view.show_resolutions([Resolution("profile_x", "22.04", {"ofed": 1}, {"a": "1"})], output),
    "tools": lambda output: samples.show_tools(TOOLS, ALIASES, output),
}
OTHER_FORMS: dict[str, Callable[[str], object]] = {
    "profile": lambda output: profile.specs(output, [SPEC], role="ofed"),
    "profile_check": lambda output: profile.show_problems(output, [Problem("kernel_release", "it is no text", "a.yml", 3, ("n1",))]),
    "drain": lambda output: moves.show_drained(MOVES, output, StillRunning({}, "no answer", "try again")),
}
