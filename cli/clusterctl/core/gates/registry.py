"""All gates: those of clusterctl, and those that a site registers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.gate_class import faults_of, origin_of
from clusterctl.model.errors import ConfigError, UsageProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable

# Files of this package, in the order in which their gates run within their scope.
_FILES = (
    "dcgm_diag",
    "nvbandwidth",
    "gpu_stress",
    "gpu_results",
    "torch_gemm",
    "cpu_stream",
    "host_memory",
    "vendor_diag",
    "nvme_fio",
    "nccl_node",
    "rdma_pair",
    "rdma_pair_gpu",
    "rdma_latency",
    "load_errors",
    "nccl_group",
    "storage_throughput",
    "training_proxy",
)
_gates: dict[str, Gate[Any]] = {}


def register(gate: object) -> None:
    """Add a gate; the same object again changes nothing.

    Raises:
        ConfigError: the object is not a gate, something in its class is missing or unusable, or another gate has its name.
    """
    if not isinstance(gate, Gate):
        raise ConfigError(
            detail=f"{gate!r} is not a gate",
            hint="register an instance of a class derived from clusterctl.core.gates.gate.Gate: `GATE = MyGate()`",
        )
    for problem, hint in faults_of(gate):
        raise ConfigError(detail=f"gate {origin_of(gate)}: {problem}", hint=hint)
    known = _gates.get(gate.name)
    if known is not None and known is not gate:
        raise ConfigError(
            detail=f"two gates are called {gate.name!r}: {origin_of(known)} and {origin_of(gate)}",
            hint="rename the one of the site, and its settings",
        )
    _gates[gate.name] = gate


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


def require_known(names: Iterable[str]) -> None:
    """Refuse a word of a command line that names no gate.

    Raises:
        UsageProblemError: no gate is registered under it.
    """
    try:
        for name in names:
            gate_named(name)
    except ConfigError as e:
        raise UsageProblemError(detail=str(e), hint=e.hint) from e


def all_gates() -> tuple[Gate[Any], ...]:
    """Every gate in the order in which gates run: by scope, then as registered."""
    return tuple(gate for scope in Scope for gate in _gates.values() if gate.scope is scope)


def gate_names(*scopes: Scope) -> tuple[str, ...]:
    """The names of all gates, or of those of some scopes, in the order in which they run."""
    return tuple(gate.name for gate in all_gates() if not scopes or gate.scope in scopes)


for _file in _FILES:
    register(importlib.import_module(f"clusterctl.core.gates.{_file}").GATE)
