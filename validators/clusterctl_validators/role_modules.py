"""The validator modules of roles. Imports no pytest: the controller runs some of them itself."""

import importlib
from types import ModuleType
from typing import Dict, Iterable, List, Tuple

from clusterctl_validators.finding import Finding, Outcome, Severity

PACKAGE = "clusterctl_validators"


def module_name(role: str) -> str:
    """The validator module of a role."""
    return "{}.test_{}".format(PACKAGE, role)


def import_roles(roles: Iterable[str]) -> Tuple[Dict[str, ModuleType], List[Finding]]:
    """Import the validator of every role; a missing or broken one becomes a could_not_run finding."""
    modules: Dict[str, ModuleType] = {}
    problems: List[Finding] = []
    for role in roles:
        name = module_name(role)
        try:
            modules[role] = importlib.import_module(name)
        except Exception as e:  # noqa: BLE001 any import error becomes a could_not_run finding
            missing = isinstance(e, ModuleNotFoundError) and e.name == name
            reason = "no validator for this role" if missing else "{}: {}".format(type(e).__name__, e)
            problems.append(validator_problem(role, reason))
    return modules, problems


def validator_problem(role: str, reason: str) -> Finding:
    """The finding for a role whose validator did not complete."""
    return Finding(role + ".validator", role, Outcome.COULD_NOT_RUN, Severity.MAJOR, reason=reason)


def role_of_module(module: object) -> str:
    """ROLE of the module, else its name without the leading test_."""
    return str(getattr(module, "ROLE", "") or getattr(module, "__name__", "").rpartition("test_")[2])
