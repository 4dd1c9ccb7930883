"""The location of roles, playbooks and the common inventory: the checkout, or `_content` in the wheel."""

from __future__ import annotations

from pathlib import Path

from clusterctl.model.errors import ConfigError

PLUGINS = Path("playbooks", "collections", "ansible_collections", "clusterctl", "gpu", "plugins")
"""Below the content directory: where Ansible finds `clusterctl.gpu.<filter>` next to a playbook. A link in a checkout, files in a wheel."""


def content_dir() -> Path:
    """The directory with `roles/`, `playbooks/` and `inventory/common`.

    A checkout takes precedence over `_content`, which may be stale in an editable install.

    Raises:
        ConfigError: neither exists (a broken installation).
    """
    package = Path(__file__).resolve().parents[2]
    for candidate in (package.parent.parent, package / "_content"):
        if (candidate / "roles").is_dir() and (candidate / "playbooks").is_dir():
            return candidate
    raise ConfigError(detail=f"no roles and playbooks next to {package}", hint="reinstall clusterctl")
