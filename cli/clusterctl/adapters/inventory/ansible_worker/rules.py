"""Rules of roles over values that are each valid, but cannot be true together: `plugins/filter/<role>_rules.py`.

The role's own assertions call the same functions, so that a contradiction is refused with the same words wherever it is met.
"""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.content import PLUGINS
from clusterctl.adapters.inventory.ansible_worker.failures import config_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    Rule = Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]

_SUFFIX = "_rules"
_STEP = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")


def load_rules(content: Path) -> dict[str, Rule]:
    """The rule of each role that has one: `contradictions(variables)` gives (variable path, message) pairs.

    Raises:
        WorkerError: a file of rules has no such function.
    """
    found: dict[str, Rule] = {}
    for file in sorted((content / PLUGINS / "filter").glob(f"*{_SUFFIX}.py")):
        role = file.stem.removesuffix(_SUFFIX)
        spec = importlib.util.spec_from_file_location(f"clusterctl_rules_{role}", file)
        if spec is None or spec.loader is None:
            raise config_failure(f"{file}: cannot be loaded", "correct the role")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rule = getattr(module, "contradictions", None)
        if rule is None:
            raise config_failure(f"{file}: has no function contradictions", "correct the role")
        found[role] = rule
    return found


def steps(path: str) -> tuple[str, tuple[str | int, ...]]:
    """`roce_rails[0].address` -> the variable and the way into it."""
    words: list[str | int] = [int(index) if index else name for index, name in _STEP.findall(path)]
    return str(words[0]), tuple(words[1:])
