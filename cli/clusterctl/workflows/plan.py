"""A plan as a run: asked of the validators, or of Ansible's check mode; recorded either way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook
from clusterctl.adapters.pools.headroom import refusal
from clusterctl.adapters.pools.loader import load_pool
from clusterctl.adapters.validators import ValidationSettings
from clusterctl.core import check_mode, plan
from clusterctl.workflows.validate import read_only_run, validate_recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.adapters.config import Config
    from clusterctl.model.exit_codes import ExitCode
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node
    from clusterctl.model.playbook_result import PlaybookResult


@dataclass(frozen=True, slots=True)
class ValidatorPlan:
    """What validators say: the plan, its document and the exit code."""

    plan: plan.Plan
    body: dict[str, Any]
    code: ExitCode


@dataclass(frozen=True, slots=True)
class CheckModePlan:
    """What Ansible's check mode says."""

    found: check_mode.CheckMode
    outcome: PlaybookResult
    body: dict[str, Any]
    code: ExitCode


def plan_by_validators(
    config: Config, target: str, nodes: Sequence[Node], ansible_args: tuple[str, ...], on_result: Callable[[NodeFindings], None]
) -> ValidatorPlan:
    """One round trip per node.

    Raises:
        ConfigError, StoreError: as `validate` and the store.
    """
    with read_only_run("plan", target, nodes, config) as run:
        results = validate_recorded(run, nodes, config, ValidationSettings(ansible_args=ansible_args), on_result)
        made = plan.make_plan(results)
        run.code = plan.plan_exit_code(made, results)
        refused = refusal(load_pool(config.pool, run.store), [n.node for n in made.to_change], doing="provisioning")
        said = plan.plan_body(made, {n.name: n.spec.digest for n in nodes})
        body = {"run_id": run.rundir.id, "target": target, "refused": refused, **said}
        run.rundir.write_json("plan.json", body)
    return ValidatorPlan(made, body, run.code)


def plan_by_check_mode(config: Config, target: str, nodes: Sequence[Node], ansible_args: tuple[str, ...]) -> CheckModePlan:
    """`provision.yml --check --diff`.

    Raises:
        ConfigError, StoreError: as the runner and the store.
    """
    found = check_mode.CheckMode()
    names = tuple(n.name for n in nodes)
    asked = PlaybookRequest("provision.yml", config.inventory, names, check=True, diff=True, extra_args=ansible_args)
    with read_only_run("plan", target, nodes, config) as run:
        outcome = run_playbook(asked, run.rundir.path_for("ansible/log").parent, found.add)
        run.code = check_mode.check_mode_exit_code(found, outcome)
        body = {"run_id": run.rundir.id, "target": target, **check_mode.check_mode_body(found, outcome)}
        run.rundir.write_json("plan.json", body)
    return CheckModePlan(found, outcome, body, run.code)
