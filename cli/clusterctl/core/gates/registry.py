"""All gates: those of clusterctl, and those that a site registers."""

from __future__ import annotations

import importlib
import re
from typing import Any

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.settings import GateSettings
from clusterctl.model.errors import ConfigError

# Files of this package, in the order in which their gates run within their scope.
_FILES = (
    "dcgm_diag",
    "nvbandwidth",
    "cpu_stream",
    "nccl_node",
    "rdma_pair",
    "nccl_group",
)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_gates: dict[str, Gate[Any]] = {}


def register(gate: object) -> None:
    """Add a gate; the same object again changes nothing.

    Raises:
        ConfigError: the object is no gate, its name or settings are unusable, or another gate has its name.
    """
    if not isinstance(gate, Gate):
        raise ConfigError(
            detail=f"{gate!r} is no gate",
            hint="register an instance of a class derived from clusterctl.core.gates.gate.Gate: `GATE = MyGate()`",
        )
    kind = type(gate)
    name = getattr(gate, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(detail=f"gate {kind.__qualname__}: {name!r} is no name of a gate", hint="use lower case letters, digits and `_`")
    model = getattr(gate, "settings_model", None)
    if not (isinstance(model, type) and issubclass(model, GateSettings)):
        raise ConfigError(
            detail=f"gate {name}: settings_model is {model!r}",
            hint="set it to a class derived from clusterctl.core.gates.settings.GateSettings",
        )
    known = _gates.get(name)
    if known is not None and known is not gate:
        raise ConfigError(
            detail=f"two gates are called {name!r}: {_origin(known)} and {_origin(gate)}",
            hint="rename the one of the site, and its settings",
        )
    _gates[name] = gate


def gate_named(name: str) -> Gate[Any]:
    """The gate of that name.

    Raises:
        ConfigError: no gate is registered under it.
    """
    if name not in _gates:
        raise ConfigError(
            detail=f"unknown gate {name!r}",
            hint=f"gates: {', '.join(gate_names())}; a site's own gate needs its package installed, or its module under `gates:` in clusterctl.yml",
        )
    return _gates[name]


def all_gates() -> tuple[Gate[Any], ...]:
    """Every gate in the order in which gates run: by scope, then as registered."""
    return tuple(gate for scope in Scope for gate in _gates.values() if gate.scope is scope)


def gate_names(*scopes: Scope) -> tuple[str, ...]:
    """The names of all gates, or of those of some scopes, in the order in which they run."""
    return tuple(gate.name for gate in all_gates() if not scopes or gate.scope in scopes)


def _origin(gate: Gate[Any]) -> str:
    return f"{type(gate).__module__}.{type(gate).__qualname__}"


for _file in _FILES:
    register(importlib.import_module(f"clusterctl.core.gates.{_file}").GATE)
