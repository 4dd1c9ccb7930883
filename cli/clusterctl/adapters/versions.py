"""The software versions that are recorded with a run."""

from __future__ import annotations

import platform
from importlib.metadata import version

from clusterctl.adapters.node_packages import node_packages


def versions() -> dict[str, str]:
    """Versions of clusterctl, Ansible and Python, and of the pytest that runs the checks on nodes."""
    here = {name: version(name) for name in ("clusterctl", "ansible-core", "ansible-runner")}
    on_nodes = {p.name: p.version for p in node_packages().locked()}
    return here | {"pytest": on_nodes["pytest"], "python": platform.python_version()}
