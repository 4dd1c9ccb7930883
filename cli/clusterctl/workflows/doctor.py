"""Checks that everything clusterctl needs is present. Each shows what it found and, where something is missing, the next action."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from clusterctl.adapters.config_keys import APPLY_ON_NODE
from clusterctl.adapters.inventory.load import list_hosts, load_nodes
from clusterctl.adapters.node_packages import node_packages
from clusterctl.adapters.on_node.archive import MIN_PYTHON
from clusterctl.adapters.pools.loader import check_pool
from clusterctl.adapters.pools.needs import pool_needs
from clusterctl.adapters.programs import program_check
from clusterctl.adapters.site_content import checked_validator_dirs, site_content
from clusterctl.adapters.site_gates import load_site_gates
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.ansible_series import REQUIREMENT, oldest_node_python
from clusterctl.core.gates.registry import gate_names
from clusterctl.core.where_ansible_runs import node_problem, run_problem
from clusterctl.model.doctor_check import Check
from clusterctl.model.errors import ClusterctlError
from clusterctl.model.program import Program
from clusterctl.model.running_text import counted
from clusterctl.workflows.site_needs import site_needs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.adapters.config import Config
    from clusterctl.model.node import Node


def examine(config: Config) -> tuple[Check, ...]:
    """All checks, in the order in which one would repair things."""
    nodes = _nodes(config)
    return (
        _python(),
        _ansible(),
        program_check(Program.ANSIBLE_PLAYBOOK),
        program_check(Program.SETPRIV, required=False),
        _node_packages(),
        program_check(Program.SSH),
        # Ansible fetches files with it, such as the records of a burn-in; without it they are lost when everything has been measured.
        program_check(Program.SFTP),
        program_check(Program.PODMAN, required=False),
        _state_dir(config.state_dir),
        _inventory(config),
        _apply(config, nodes),
        *site_needs(config, () if isinstance(nodes, ClusterctlError) else (n.connection for n in nodes)),
        *_pool(config),
        _gates(config),
        *_site_roles(),
    )


def _python() -> Check:
    found = sys.version.split()[0]
    return Check("python", sys.version_info >= (3, 11), found, "clusterctl needs Python 3.11 or newer")


def _ansible() -> Check:
    hint = f"pip install '{REQUIREMENT}'"
    try:
        found = version("ansible-core")
    except PackageNotFoundError:
        return Check("ansible-core", ok=False, found="missing", hint=hint)
    oldest = oldest_node_python(found)
    return Check("ansible-core", bool(oldest), f"{found} (nodes: Python {oldest} or later)" if oldest else found, hint)


def _node_packages() -> Check:
    try:
        packages = node_packages()
        packages.read_sources()
    except ClusterctlError as e:
        return Check("node packages", ok=False, found=str(e), hint=e.hint)
    return Check("node packages", ok=True, found=", ".join(f"{p.name} {p.version}" for p in packages.locked()))


def _state_dir(path: Path) -> Check:
    nearest = next(p for p in (path, *path.parents) if p.exists())
    hint = f"make {nearest} writable, or set CLUSTERCTL_STATE_DIR"
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return Check("state directory", ok=True, found=str(path))
    except OSError as e:
        return Check("state directory", ok=False, found=f"{path}: {e.strerror}", hint=hint)


def _inventory(config: Config) -> Check:
    try:
        hosts = list_hosts(config.inventory).hosts
    except ClusterctlError as e:
        return Check("inventory", ok=False, found=str(e), hint=e.hint)
    hint = "add nodes to the inventory; `clusterctl init DIR` writes one to start from"
    return Check("inventory", bool(hosts), f"{counted(len(hosts), 'node')} in {counted(len(config.inventory), 'layer')}", hint)


def _nodes(config: Config) -> tuple[Node, ...] | ClusterctlError:
    """All nodes; the error where their declared state cannot be read, which is for `profile check` to show in full."""
    try:
        return load_nodes(config.inventory, "all")
    except ClusterctlError as e:
        return e


def _apply(config: Config, nodes: tuple[Node, ...] | ClusterctlError) -> Check:
    """Where roles run, by number of nodes; the Python of a node is known only on the node, so `plan` may name more that are changed from here."""
    name, hint = "apply", "docs/explanation/where-ansible-runs.md has each reason with what to do"
    why = run_problem((), (), os.environ) if config.apply == APPLY_ON_NODE else f"apply: {config.apply} is set"
    if why:
        return Check(name, ok=True, found=f"roles run from the controller: {why}", hint=hint)
    if isinstance(nodes, ClusterctlError):
        hint = "clusterctl profile check shows what is wrong with file and line"
        return Check(name, ok=False, found=str(nodes).splitlines()[0].rstrip(":"), hint=hint, required=False)
    reasons = Counter(node_problem(node, "", MIN_PYTHON) for node in nodes)
    found = f"roles run on {counted(reasons.pop('', 0), 'node')}, with Python {'.'.join(map(str, MIN_PYTHON))} or later"
    return Check(name, ok=True, found="; ".join([found, *(f"from the controller on {n}: {why}" for why, n in reasons.items())]), hint=hint)


def _pool(config: Config) -> Iterator[Check]:
    """That the declared backend is installed, takes its settings, and has what it needs here; its scheduler is not contacted."""
    try:
        backend, settings = check_pool(config.pool)
    except ClusterctlError as e:
        yield Check("pool", ok=False, found=str(e), hint=e.hint)
        return
    yield Check("pool", ok=True, found=f"{config.pool.kind} ({backend.__module__}.{backend.__qualname__})")
    yield from pool_needs(backend, settings)


def _gates(config: Config) -> Check:
    """That the gates of the site and of packages can be registered."""
    try:
        load_site_gates(config.gates, config.plugins)
    except ClusterctlError as e:
        return Check("gates", ok=False, found=str(e), hint=e.hint)
    return Check("gates", ok=True, found=", ".join(gate_names()))


def _site_roles() -> Iterator[Check]:
    """The roles that the site and packages bring; one without a schema cannot be declared, one without a validator never verified."""
    try:
        content = site_content()
        read_traits(checked_validator_dirs(content))
    except ClusterctlError as e:
        yield Check("site roles", ok=False, found=str(e), hint=e.hint)
        return
    for role, folder in content.roles.items():
        parts = {"meta/argument_specs.yml": (folder / "meta" / "argument_specs.yml").is_file()}
        parts[f"validators/test_{role}.py"] = content.validator_of(role) is not None
        missing = [part for part, present in parts.items() if not present]
        found = f"{folder}: no {', no '.join(missing)}" if missing else str(folder)
        hint = "docs/how-to/own-role-validator-gate-pool.md shows both files"
        yield Check(f"role {role}", not missing, found, hint, required=False)
