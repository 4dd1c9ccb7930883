"""The environment an ansible-playbook of ours gets: little, and never less than what the user set for Ansible."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from clusterctl.adapters.site_content import site_content

if TYPE_CHECKING:
    from collections.abc import Mapping

PASS_VARIABLE = "CLUSTERCTL_PASS_ENV"  # noqa: S105 a list of names, not a secret
_KEPT = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"})
_PREFIXES = ("ANSIBLE_", "RUNNER_", "AWX_ISOLATED_DATA_DIR")


def minimal(environment: Mapping[str, str], content: Path) -> dict[str, str]:
    """What of `environment` an ansible-playbook needs, with our defaults where the user set nothing.

    Kept are ANSIBLE_*, the variables ssh and a locale need, and those named in CLUSTERCTL_PASS_ENV (comma separated), for
    sites that read secrets with `lookup('env', ...)`. An ansible.cfg in the working directory goes before ours.
    """
    passed = {name.strip() for name in environment.get(PASS_VARIABLE, "").split(",") if name.strip()}
    kept = {k: v for k, v in environment.items() if k in _KEPT or k in passed or k.startswith(_PREFIXES)}
    kept.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if "utf" not in (kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or "").lower():
        kept |= {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}
    kept.setdefault("ANSIBLE_NOCOLOR", "1")
    return kept | added_settings(kept, content)


def added_settings(environment: Mapping[str, str], content: Path) -> dict[str, str]:
    """The settings of Ansible that our content and the roles of the site need, without those that `environment` has already."""
    own_config = Path("ansible.cfg").absolute()
    needed = {
        "ANSIBLE_CONFIG": str(own_config if own_config.is_file() else content / "ansible.cfg"),
        "ANSIBLE_ROLES_PATH": ":".join(str(d) for d in (*site_content().role_dirs, content / "roles")),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
    }
    return {name: value for name, value in needed.items() if name not in environment}


def executable(name: str) -> str | None:
    """`name` beside this Python (a virtual environment need not be on PATH), else on PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else which(name)
