"""What Ansible and its runner get on the node: environment and options. Pure but for this process's own environment."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# no PYTHONPATH: what Ansible starts on the node would inherit it
_WORKER = "import sys; sys.path.insert(0, {lib!r}); from ansible_runner.__main__ import main; main()"


def argv(content: Path, private: Path) -> list[str]:
    """The command of ansible-runner's worker."""
    start = _WORKER.format(lib=str(content / "lib"))
    return [sys.executable, "-I", "-c", start, "worker", "--private-data-dir", str(private)]


def environment(content: Path, folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """The environment of Ansible: `settings` of the operator, and what must be so on the node; all its files are in `folder`."""
    payload = content / "content"
    return {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        **settings,
        "PATH": f"{content / 'bin'}:{_PATH}",
        "HOME": os.environ.get("HOME", "/root"),
        "ANSIBLE_CONFIG": str(payload / "ansible.cfg"),
        "ANSIBLE_ROLES_PATH": f"{payload / 'site_roles'}:{payload / 'roles'}",
        "ANSIBLE_COLLECTIONS_PATH": f"{payload / 'playbooks' / 'collections'}:{payload / 'collections'}",
        "ANSIBLE_CONNECTION_PLUGINS": str(payload / "connection"),
        "ANSIBLE_CALLBACKS_ENABLED": "clusterctl.gpu.preload",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_REMOTE_TEMP": str(folder / "tmp"),
        "CLUSTERCTL_PRELOADED": str(folder / "python"),
        "CLUSTERCTL_PRELOADED_LIB": str(content / "lib"),
        # beside the files that they are made of: other files are another folder
        "CLUSTERCTL_BUILT_MODULES": str(content / "modules"),
    }


def kwargs(requested: dict[str, Any], content: Path) -> dict[str, Any]:
    """The arguments of `ansible_runner.run`."""
    given = {
        "ident": "run",
        "playbook": str(content / "content" / "playbooks" / requested["playbook"]),
        "tags": ",".join(requested["tags"]) or None,
        "cmdline": " ".join(requested["flags"]) or None,
        "extravars": requested["extra_vars"] or None,
        "verbosity": requested["verbosity"] or None,
        "fact_cache_type": "",
        "suppress_output_file": True,
    }
    return {name: value for name, value in given.items() if value is not None}
