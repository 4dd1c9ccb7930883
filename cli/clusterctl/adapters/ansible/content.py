"""Where roles, playbooks and common inventory are: in a checkout, or in the wheel's `_content`."""

from __future__ import annotations

from pathlib import Path

from clusterctl.model.errors import ConfigError

PLUGINS = Path("playbooks", "collections", "ansible_collections", "clusterctl", "gpu", "plugins")
"""Below the content: where Ansible finds `clusterctl.gpu.<filter>` beside a playbook. A checkout has a link there, a wheel the files."""


def content_dir() -> Path:
    """The folder that holds `roles/`, `playbooks/` and `inventory/common`.

    A checkout wins over `_content`: an editable install may carry a stale copy of the latter.

    Raises:
        ConfigError: neither is there (a broken installation).
    """
    package = Path(__file__).resolve().parents[2]
    for candidate in (package.parent.parent, package / "_content"):
        if (candidate / "roles").is_dir() and (candidate / "playbooks").is_dir():
            return candidate
    raise ConfigError(detail=f"no roles and playbooks beside {package}", hint="reinstall clusterctl")
