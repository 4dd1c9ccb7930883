"""Loads a filter plugin as Ansible does: filter plugins are part of no package, and find what they share in the collection."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from support.collection import use_collection
from support.roles import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def filter_plugin(name: str) -> ModuleType:
    """Load plugins/filter/<name>.py."""
    use_collection()
    path = ROOT / "plugins" / "filter" / f"{name}.py"
    found = importlib.util.spec_from_file_location(f"filter_plugin_{name}", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
