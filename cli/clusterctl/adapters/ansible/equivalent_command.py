"""The equivalent command without clusterctl; it runs as printed, in any directory and in a shell that has only PATH and HOME."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible import environment as ansible_env
from clusterctl.adapters.ansible.content import content_dir
from clusterctl.model.program import Program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Set by `--vault-id` and `--vault-password-file` of `provision`: paths, no passwords.
_VAULT_FILES = ("ANSIBLE_VAULT_IDENTITY_LIST", "ANSIBLE_VAULT_PASSWORD_FILE")


def equivalent_command(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """`ansible-playbook WORDS`, quoted for a shell, preceded by the settings that clusterctl adds to `environment`."""
    settings = ansible_env.added_settings(environment, content_dir())
    settings |= {name: environment[name] for name in _VAULT_FILES if environment.get(name)}
    assignments = (f"{name}={shlex.quote(value)}" for name, value in settings.items())
    return " ".join([*assignments, shlex.join([_binary(), *words])])


def _binary() -> str:
    """`ansible-playbook`, with its directory if it is not the one on PATH."""
    name = Program.ANSIBLE_PLAYBOOK.value
    found = ansible_env.executable(Program.ANSIBLE_PLAYBOOK) or name
    return name if shutil.which(Program.ANSIBLE_PLAYBOOK) == found else found
