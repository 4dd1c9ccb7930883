"""Loads filter plugins and modules as Ansible does: they are part of no package, and find what they share in the collection."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

from support.collection import use_collection
from support.roles import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def filter_plugin(name: str) -> ModuleType:
    """Load plugins/filter/<name>.py."""
    return _load("filter", name)


def module_plugin(name: str) -> ModuleType:
    """Load plugins/modules/<name>.py."""
    return _load("modules", name)


def _load(kind: str, name: str) -> ModuleType:
    use_collection()
    found = importlib.util.spec_from_file_location(f"{kind}_plugin_{name}", ROOT / "plugins" / kind / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    # a dataclass with annotations as text looks its module up
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module
