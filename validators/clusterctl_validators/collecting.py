"""Select the modules that a spec needs and turn them into pytest items without pytest's file discovery."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Dict, Iterable, Iterator, List, Tuple

import pytest

from clusterctl_validators.finding import Finding, Outcome, Severity

PACKAGE = "clusterctl_validators"


class RoleModule(pytest.Module):
    """A module that is already imported: its file may be inside a zip."""

    role_module: ModuleType

    def _getobj(self) -> ModuleType:
        return self.role_module


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


def role_of(item: pytest.Item) -> str:
    """The role an item verifies: ROLE of its module."""
    return role_of_module(getattr(item, "module", None))


def role_of_module(module: object) -> str:
    """ROLE of the module, else its name without the leading test_."""
    return str(getattr(module, "ROLE", "") or getattr(module, "__name__", "").rpartition("test_")[2])


def make_items(session: pytest.Session, modules: Dict[str, ModuleType]) -> Iterator[pytest.Item]:
    """The pytest items of imported modules, in the order of the roles."""
    for module in modules.values():
        path = Path(str(module.__file__))
        node: RoleModule = RoleModule.from_parent(session, path=path, nodeid=path.name)
        node.role_module = module
        yield from session.genitems(node)
