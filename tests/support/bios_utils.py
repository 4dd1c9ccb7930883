"""Imports the module utilities of the role bios as Ansible does, from the collection."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import ansible_collections

from support.roles import COLLECTIONS

if TYPE_CHECKING:
    from types import ModuleType

_FOLDER = str(COLLECTIONS / "ansible_collections")


def bios_utils(name: str) -> ModuleType:
    """The module plugins/module_utils/<name>.py."""
    if _FOLDER not in ansible_collections.__path__:
        ansible_collections.__path__.append(_FOLDER)
    return importlib.import_module(f"ansible_collections.clusterctl.gpu.plugins.module_utils.{name}")
