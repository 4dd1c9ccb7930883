"""The module utilities of the role bios, importable as Ansible imports them: `ansible.module_utils.<name>`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import ansible.module_utils

from support.roles import ROOT

if TYPE_CHECKING:
    from types import ModuleType

_FOLDER = str(ROOT / "roles" / "bios" / "module_utils")


def bios_utils(name: str) -> ModuleType:
    """roles/bios/module_utils/<name>.py."""
    if _FOLDER not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(_FOLDER)
    return importlib.import_module(f"ansible.module_utils.{name}")
