"""Vault passwords reach every Ansible of a run in one way: the environment variables of Ansible itself."""

from __future__ import annotations

import configparser
import os
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.ansible.environment import added_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_IDS, _FILE = "ANSIBLE_VAULT_IDENTITY_LIST", "ANSIBLE_VAULT_PASSWORD_FILE"


def hand_on_vault_ids(vault_ids: Sequence[str]) -> None:
    """Add `FILE` or `LABEL@FILE` to those that the environment or ansible.cfg names, as Ansible does."""
    if vault_ids:
        known = os.environ.get(_IDS) or _configured()
        os.environ[_IDS] = ",".join(dict.fromkeys([*(v.strip() for v in known.split(",") if v.strip()), *vault_ids]))


def hand_on_vault_file(file: str) -> None:
    """As `--vault-password-file`."""
    if file:
        os.environ[_FILE] = file


def _configured() -> str:
    """The list of ansible.cfg: the variable, once it is set, hides it."""
    file = os.environ.get("ANSIBLE_CONFIG") or added_settings({}, content_dir())["ANSIBLE_CONFIG"]
    parser = configparser.ConfigParser(inline_comment_prefixes=(";",), interpolation=None)
    try:
        parser.read(Path(file), encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return ""  # Ansible itself reports it
    return parser.get("defaults", "vault_identity_list", fallback="")
