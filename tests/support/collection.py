"""The collection of this checkout, importable as Ansible's plugins import it."""

from __future__ import annotations

import ansible_collections

from support.roles import COLLECTIONS

_FOLDER = str(COLLECTIONS / "ansible_collections")


def use_collection() -> None:
    """Make `ansible_collections.clusterctl.gpu` importable."""
    if _FOLDER not in ansible_collections.__path__:
        ansible_collections.__path__.append(_FOLDER)
