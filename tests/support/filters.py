"""Load a role's filter plugin as a module: it is a file of Ansible's, not of a package."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def filter_plugin(role: str, name: str) -> ModuleType:
    """roles/<role>/filter_plugins/<name>.py, executed."""
    path = ROOT / "roles" / role / "filter_plugins" / f"{name}.py"
    found = importlib.util.spec_from_file_location(f"filter_plugin_{name}", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
