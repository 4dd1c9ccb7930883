"""Is everything here that clusterctl needs? Each check says what it found and, where something is missing, what to do."""

from __future__ import annotations

import os
import shutil
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
from clusterctl.adapters.site_content import checked_validator_dirs, site_content
from clusterctl.adapters.site_gates import load_site_gates
from clusterctl.adapters.validator_declarations import read_traits
from clusterctl.core.ansible_series import REQUIREMENT, oldest_node_python
from clusterctl.core.gates.registry import gate_names
from clusterctl.core.where_ansible_runs import node_problem, run_problem
from clusterctl.model.doctor_check import Check
from clusterctl.model.errors import ClusterctlError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.adapters.config import Config

_OPENSSH = "install the OpenSSH client: apt install openssh-client"


def examine(config: Config) -> tuple[Check, ...]:
    """All checks, in the order in which one would repair things."""
    return (
        _python(),
        _ansible(),
        _node_packages(),
        _tool("ssh", _OPENSSH),
        # Ansible fetches files with it, such as the records of a burn-in; without it they are lost when everything has been measured.
        _tool("sftp", _OPENSSH),
        _tool("podman", "only the lab needs it: apt install podman", required=False),
        _state_dir(config.state_dir),
        _inventory(config),
        _apply(config),
        _pool(config),
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


def _tool(name: str, hint: str, *, required: bool = True) -> Check:
    found = shutil.which(name)
    return Check(name, found is not None, found or "missing", hint, required)


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
    return Check("inventory", bool(hosts), f"{len(hosts)} nodes in {len(config.inventory)} layers", hint)


def _apply(config: Config) -> Check:
    """Where roles run, by number of nodes; only a node itself knows its Python, so `plan` may name more that are changed from here."""
    name, hint = "apply", "docs/explanation/where-ansible-runs.md has each reason with what to do"
    why = run_problem((), (), os.environ) if config.apply == APPLY_ON_NODE else f"apply: {config.apply} is set"
    if why:
        return Check(name, ok=True, found=f"roles run from the controller: {why}", hint=hint)
    try:
        reasons = Counter(node_problem(node, "", MIN_PYTHON) for node in load_nodes(config.inventory, "all"))
    except ClusterctlError as e:
        hint = "clusterctl profile check shows what is wrong with file and line"
        return Check(name, ok=False, found=str(e).splitlines()[0].rstrip(":"), hint=hint, required=False)
    found = f"roles run on {reasons.pop('', 0)} nodes themselves, with Python {'.'.join(map(str, MIN_PYTHON))} or later"
    return Check(name, ok=True, found="; ".join([found, *(f"from the controller on {n}: {why}" for why, n in reasons.items())]), hint=hint)


def _pool(config: Config) -> Check:
    """That the declared backend is installed and takes its settings; its scheduler is not contacted."""
    try:
        backend, _settings = check_pool(config.pool)
    except ClusterctlError as e:
        return Check("pool", ok=False, found=str(e), hint=e.hint)
    return Check("pool", ok=True, found=f"{config.pool.kind} ({backend.__module__}.{backend.__qualname__})")


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
