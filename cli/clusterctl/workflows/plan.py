"""`plan` as a recorded run: from the validators, or from Ansible's check mode."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook
from clusterctl.adapters.pools.headroom import Headroom
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.validator_declarations import validator_traits
from clusterctl.adapters.validators import ValidationSettings
from clusterctl.core import check_mode
from clusterctl.core.gates.gates_profile import profile_of
from clusterctl.core.observe import deciding_gates, parse_observations
from clusterctl.core.plan import check_exit_code, make_plan, plan_body
from clusterctl.model.provision import ProvisionOptions
from clusterctl.workflows.lemons import due_of
from clusterctl.workflows.provision.check import plan_inputs
from clusterctl.workflows.validate import read_only_run, validate_recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.exit_codes import ExitCode
    from clusterctl.model.findings import ValidationListener
    from clusterctl.model.level import Level
    from clusterctl.model.node import Node
    from clusterctl.model.plan import Plan
    from clusterctl.model.playbook_result import PlaybookResult


@dataclass(frozen=True, slots=True)
class ValidatorPlan:
    """The plan from the validators, with its document and exit code."""

    plan: Plan
    body: dict[str, Any]
    code: ExitCode


@dataclass(frozen=True, slots=True)
class CheckModePlan:
    """The result of Ansible's check mode."""

    found: check_mode.CheckMode
    outcome: PlaybookResult
    body: dict[str, Any]
    code: ExitCode


def plan_by_validators(config: Config, target: str, nodes: Sequence[Node], listener: ValidationListener | None = None) -> ValidatorPlan:
    """One round trip per node.

    Raises:
        ConfigError, StoreError: as `validate` and the store.
    """
    with read_only_run("plan", target, nodes, config) as run:
        results = validate_recorded(run, nodes, config, ValidationSettings(), listener)
        options = ProvisionOptions()
        due = due_of(run.store, config.lemon_limits, [n.name for n in nodes])
        inputs = plan_inputs(run.store, nodes, {f.node: f for f in results}, partial(_expected_gates, options.level), due)
        plan = make_plan(inputs, options, validator_traits())
        run.code = check_exit_code(plan)
        headroom = Headroom(run.store, load_pool(config.pool, run.store), config.limits)
        refused = headroom.refusal(plan.leaving_pool, doing="provisioning")
        body = {"run_id": run.rundir.id, "target": target, "refused": refused, **plan_body(plan, {n.name: n.spec.digest for n in nodes})}
        run.rundir.write_json("plan.json", body)
    return ValidatorPlan(plan, body, run.code)


def plan_by_check_mode(config: Config, target: str, nodes: Sequence[Node]) -> CheckModePlan:
    """`provision.yml --check --diff`.

    Raises:
        ConfigError, StoreError: as the runner and the store.
    """
    found = check_mode.CheckMode()
    names = tuple(n.name for n in nodes)
    request = PlaybookRequest("provision.yml", config.inventory, names, check=True, diff=True)
    with read_only_run("plan", target, nodes, config) as run:
        outcome = run_playbook(request, run.rundir.path_for("ansible/log").parent, found.add)
        found.add_hidden(outcome)
        run.code = check_mode.check_mode_exit_code(found, outcome)
        body = {"run_id": run.rundir.id, "target": target, **check_mode.check_mode_body(found, outcome)}
        run.rundir.write_json("plan.json", body)
    return CheckModePlan(found, outcome, body, run.code)


def _expected_gates(level: Level, node: Node) -> tuple[str, ...]:
    levels = profile_of(node, datetime.now(UTC).date()).levels
    return deciding_gates(levels[level], parse_observations(node.spec.observe, node.name))
