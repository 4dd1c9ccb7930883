"""The environment of ansible-playbook: a minimum, plus everything that the user set for Ansible."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from clusterctl.adapters.given_file import all_may_write
from clusterctl.adapters.site_content import site_content

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.program import Program

PASS_VARIABLE = "CLUSTERCTL_PASS_ENV"  # noqa: S105 a list of names, not a secret
_PASSED_NAMES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"}
)
_PASSED_PREFIXES = ("ANSIBLE_", "RUNNER_", "AWX_ISOLATED_DATA_DIR")


def minimal_environment(environment: Mapping[str, str], content: Path) -> dict[str, str]:
    """The part of `environment` that ansible-playbook needs, with defaults for what the user did not set.

    It contains ANSIBLE_*, the variables for ssh and the locale, and those named in CLUSTERCTL_PASS_ENV (comma separated), for
    sites that read secrets with `lookup('env', ...)`. An ansible.cfg in the working directory takes precedence over that of clusterctl, unless every
    user can write there.
    """
    passed = {name.strip() for name in environment.get(PASS_VARIABLE, "").split(",") if name.strip()}
    kept = {k: v for k, v in environment.items() if k in _PASSED_NAMES or k in passed or k.startswith(_PASSED_PREFIXES)}
    kept.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if "utf" not in (kept.get("LC_ALL") or kept.get("LC_CTYPE") or kept.get("LANG") or "").lower():
        kept |= {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8"}
    kept.setdefault("ANSIBLE_NOCOLOR", "1")
    return kept | added_settings(kept, content)


def added_settings(environment: Mapping[str, str], content: Path) -> dict[str, str]:
    """The Ansible settings that the content of clusterctl and of the site needs, except those that `environment` already has."""
    own_config, ours = Path("ansible.cfg").absolute(), content / "ansible.cfg"
    usable = own_config.is_file() and not all_may_write(own_config.parent)  # as Ansible does where it looks for the file itself
    config = environment.get("ANSIBLE_CONFIG") or str(own_config if usable else ours)
    needed = {
        "ANSIBLE_CONFIG": config,
        "ANSIBLE_ROLES_PATH": ":".join(str(d) for d in (*site_content().role_dirs, content / "roles")),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
    }
    if Path(config).resolve() == ours.resolve():  # the variable would switch off the callbacks that another file enables
        needed["ANSIBLE_CALLBACKS_ENABLED"] = "clusterctl.gpu.preload"
    return {name: value for name, value in needed.items() if name not in environment}


def executable(program: Program) -> str | None:
    """The path of a program: next to this Python, because a virtual environment need not be on PATH, otherwise on PATH."""
    beside = Path(sys.executable).parent / program
    return str(beside) if beside.is_file() else which(program)
