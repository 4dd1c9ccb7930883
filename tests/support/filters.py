"""Loads a filter plugin as a module; filter plugins are not part of a package."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from support.roles import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def filter_plugin(name: str) -> ModuleType:
    """Load plugins/filter/<name>.py."""
    path = ROOT / "plugins" / "filter" / f"{name}.py"
    found = importlib.util.spec_from_file_location(f"filter_plugin_{name}", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
