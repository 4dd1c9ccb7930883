"""All gates: those of clusterctl, and those that a site registers."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.settings import GateSettings
from clusterctl.core.parsers import TOOLS
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Files of this package, in the order in which their gates run within their scope.
_FILES = (
    "dcgm_diag",
    "nvbandwidth",
    "cpu_stream",
    "nccl_node",
    "rdma_pair",
    "rdma_pair_gpu",
    "load_errors",
    "nccl_group",
)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_gates: dict[str, Gate[Any]] = {}


def register(gate: object) -> None:
    """Add a gate; the same object again changes nothing.

    Raises:
        ConfigError: the object is no gate, something in its class is missing or unusable, or another gate has its name.
    """
    if not isinstance(gate, Gate):
        raise ConfigError(
            detail=f"{gate!r} is no gate",
            hint="register an instance of a class derived from clusterctl.core.gates.gate.Gate: `GATE = MyGate()`",
        )
    for problem, hint in _faults(gate):
        raise ConfigError(detail=f"gate {_origin(gate)}: {problem}", hint=hint)
    known = _gates.get(gate.name)
    if known is not None and known is not gate:
        raise ConfigError(
            detail=f"two gates are called {gate.name!r}: {_origin(known)} and {_origin(gate)}",
            hint="rename the one of the site, and its settings",
        )
    _gates[gate.name] = gate


def _faults(gate: Gate[Any]) -> Iterator[tuple[str, str]]:
    """What makes a gate unusable, and what to do; the class of a site's gate is checked by no one else."""
    name, model, tool = (getattr(gate, attribute, None) for attribute in ("name", "settings_model", "tool"))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"{name!r} is no name of a gate", "use lower case letters, digits and `_`"
    if not isinstance(getattr(gate, "scope", None), Scope):
        yield "it has no scope", "derive it from NodeGate, PairGate or GroupGate"
    if not (isinstance(model, type) and issubclass(model, GateSettings)):
        yield f"settings_model is {model!r}", "set it to a class derived from clusterctl.core.gates.settings.GateSettings"
    elif required := [field for field, info in model.model_fields.items() if info.is_required()]:
        yield f"setting {required[0]} has no default", "a profile that does not run the gate need not know its settings: give it one"
    if not isinstance(tool, str) or (tool not in TOOLS and type(gate).samples is Gate.samples):
        yield f"no parser reads {tool!r}", f"override `samples`, or set `tool` to one of: {', '.join(TOOLS)}"


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
