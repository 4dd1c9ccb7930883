"""Imports the module utilities of the role bios as Ansible does, from the collection."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from support.collection import use_collection

if TYPE_CHECKING:
    from types import ModuleType


def bios_utils(name: str) -> ModuleType:
    """The module plugins/module_utils/<name>.py."""
    use_collection()
    return importlib.import_module(f"ansible_collections.clusterctl.gpu.plugins.module_utils.{name}")
