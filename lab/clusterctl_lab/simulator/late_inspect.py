"""The module inspect, imported when somebody uses it.

It is a sixth of what starting a program of a lab node costs, and a burn-in starts hundreds: dataclasses imports it, for classes without a docstring.
"""

import sys
from importlib import import_module
from types import ModuleType


class _LateInspect(ModuleType):
    def __getattr__(self, name: str) -> object:
        if sys.modules["inspect"] is self:
            del sys.modules["inspect"]
        return getattr(import_module("inspect"), name)


def postpone() -> None:
    """From now on, in this process, unless it has been imported already."""
    sys.modules.setdefault("inspect", _LateInspect("inspect"))
