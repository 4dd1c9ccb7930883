"""Checks that run on the controller, for roles whose evidence is not available on the node."""

import inspect
from types import ModuleType
from typing import Any, Dict, List, Mapping

from clusterctl_validators.bmc_view import BmcView
from clusterctl_validators.finding import Finding
from clusterctl_validators.record import Record, distinct
from clusterctl_validators.role_modules import import_roles, validator_problem
from clusterctl_validators.spec_view import SpecView


def check_role(role: str, variables: Dict[str, Any], bmc: BmcView) -> List[Finding]:
    """The findings of one role; a check that raises becomes could_not_run."""
    modules, problems = import_roles([role])
    findings = list(problems)
    for module in modules.values():
        findings += _run(role, module, {"spec": SpecView(role, variables), "bmc": bmc})
    return distinct(findings) or [validator_problem(role, "the validator recorded nothing")]


def _run(role: str, module: ModuleType, available: Mapping[str, Any]) -> List[Finding]:
    record = Record(role)
    for name, function in vars(module).items():
        if not name.startswith("test_") or not inspect.isfunction(function):
            continue
        fixtures = {**available, "record": record}
        try:
            function(**{p: fixtures[p] for p in inspect.signature(function).parameters})
        except Exception as e:  # noqa: BLE001 becomes could_not_run, as on a node
            record.could_not_run("{}.{}".format(role, name), "{}: {}".format(type(e).__name__, e))
    return record.findings
