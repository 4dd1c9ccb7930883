"""The programs that are started on the controller."""

from __future__ import annotations

from enum import StrEnum


class Program(StrEnum):
    """A program that clusterctl, Ansible or the lab starts on the controller, by its name on PATH. Callers use this class, so that `doctor` checks them all."""

    ANSIBLE_PLAYBOOK = "ansible-playbook"
    SETPRIV = "setpriv"
    SSH = "ssh"
    SFTP = "sftp"
    SSH_KEYGEN = "ssh-keygen"
    SCONTROL = "scontrol"
    SQUEUE = "squeue"
    PODMAN = "podman"
