"""Runs tasks on this machine with ansible-playbook and the roles of the tree."""

from __future__ import annotations

import json
import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from support.forked_python import forked_python
from support.roles import ROLES_ENVIRONMENT, ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LIMIT_S = 300
_ENTRY = "ansible.cli.playbook:main"
# Read while Ansible and Python's own modules are imported.
_READ_AT_IMPORT = re.compile(r"ANSIBLE_|PYTHON|LC_|LANG|HOME$|TMPDIR$|TZ$")


@dataclass(frozen=True, slots=True)
class FinishedPlay:
    """Its exit status, and what it printed."""

    code: int
    output: str

    @property
    def changed(self) -> int:
        """How many tasks changed something, by the recap."""
        found = re.search(r"changed=(\d+)", self.output)
        assert found, self.output
        return int(found[1])


def role_tasks(role: str, *names: str) -> list[dict[str, Any]]:
    """Tasks that include task files of a role."""
    return [{"ansible.builtin.include_role": {"name": role, "tasks_from": name}} for name in names]


def _as_on_nodes(run: Path, folder: Path) -> dict[str, str]:
    """Plug-ins and modules are loaded once for all tasks, as on nodes."""
    return {
        "ANSIBLE_CALLBACKS_ENABLED": "clusterctl.gpu.preload",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_CONNECTION_PLUGINS": str(ROOT / "on_node" / "clusterctl_on_node" / "connection"),
        "ANSIBLE_PIPELINING": "1",
        "CLUSTERCTL_PRELOADED": str(run / "python"),
        "CLUSTERCTL_PRELOADED_LIB": sysconfig.get_path("purelib"),
        "CLUSTERCTL_BUILT_MODULES": str(folder.parent / "built-modules"),
    }


def run_play(
    folder: Path,
    tasks: Sequence[Mapping[str, Any]],
    *words: str,
    variables: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    keywords: Mapping[str, Any] | None = None,
) -> FinishedPlay:
    """Run `tasks` on localhost from `folder`.

    Args:
        words: more arguments of ansible-playbook.
        variables: extra variables: they win over all others.
        environment: in addition to that of this process.
        keywords: more keywords of the play.
    """
    play = {"hosts": "localhost", "connection": "preloaded", "gather_facts": False, "tasks": list(tasks), **(keywords or {})}
    (folder / "play.json").write_text(json.dumps([play]))
    given = json.dumps({"ansible_python_interpreter": sys.executable, **(variables or {})})
    argv = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", "-e", given, *words, str(folder / "play.json")]
    with TemporaryDirectory(prefix="clusterctl-play-") as run:
        whole = {
            **os.environ,
            **ROLES_ENVIRONMENT,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOME": str(folder.parent / "ansible-home"),
            **_as_on_nodes(Path(run), folder),
            **(environment or {}),
        }
        read = {name: value for name, value in whole.items() if _READ_AT_IMPORT.match(name)}
        done = forked_python(_ENTRY, read).run(argv, environment=whole, folder=folder, limit_s=_LIMIT_S)
    return FinishedPlay(done.returncode, done.stdout + done.stderr)
