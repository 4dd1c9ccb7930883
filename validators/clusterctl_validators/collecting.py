"""Turn the imported modules of roles into pytest items without pytest's file discovery."""

from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Iterator, List, Mapping, Optional

import pytest

from clusterctl_validators.role_modules import role_of_module


class RoleModule(pytest.Module):
    """A module that is already imported: its file may be inside a zip."""

    role_module: ModuleType

    def _getobj(self) -> ModuleType:
        return self.role_module


def role_of(item: pytest.Item) -> str:
    """The role an item verifies: ROLE of its module."""
    return role_of_module(getattr(item, "module", None))


def items_of_argument(spec: Optional[Mapping[str, Any]], variable: str) -> List[Any]:
    """The declared items that a check takes one at a time; one empty item if there are none, so that the check can report it."""
    return list((spec or {}).get(variable) or []) or [""]


def item_of(item: pytest.Item) -> str:
    """`[<item>]` of a check that takes the items of a declared list one at a time; empty for other checks."""
    each = getattr(getattr(item, "module", None), "EACH", {})
    values: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return "".join("[{}]".format(values[argument]) for argument in each if values.get(argument))


def make_items(session: pytest.Session, modules: Dict[str, ModuleType]) -> Iterator[pytest.Item]:
    """The pytest items of imported modules, in the order of the roles."""
    for module in modules.values():
        path = Path(str(module.__file__))
        node: RoleModule = RoleModule.from_parent(session, path=path, nodeid=path.name)
        node.role_module = module
        yield from session.genitems(node)
