"""Whether a program of the controller is installed; none is started."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.environment import executable
from clusterctl.core.ansible_series import REQUIREMENT
from clusterctl.model.doctor_check import Check
from clusterctl.model.program import Program

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPENSSH = "install the OpenSSH client: apt install openssh-client"
_SLURM = "install Slurm's client commands on this machine: apt install slurm-client"
_HINTS: Mapping[Program, str] = {
    Program.ANSIBLE_PLAYBOOK: f"pip install '{REQUIREMENT}' into the environment of clusterctl",
    Program.SETPRIV: "without it, Ansible goes on for a while where clusterctl is killed: apt install util-linux",
    Program.SSH: _OPENSSH,
    Program.SFTP: _OPENSSH,
    Program.SSH_KEYGEN: _OPENSSH,
    Program.SCONTROL: _SLURM,
    Program.SQUEUE: _SLURM,
    Program.PODMAN: "only the lab needs it: apt install podman",
}


def program_check(program: Program, *, required: bool = True) -> Check:
    """Whether a program is where what starts it looks for it."""
    found = executable(program) if program is Program.ANSIBLE_PLAYBOOK else shutil.which(program)
    return Check(program.value, found is not None, found or "missing", _HINTS[program], required)


def command_check(name: str, command: str, hint: str, *, required: bool = True) -> Check:
    """Whether a command that the site names, on PATH or by its path, is there and can be executed."""
    found = shutil.which(command)
    return Check(name, found is not None, found or f"{command}: missing, or not executable", hint, required)
