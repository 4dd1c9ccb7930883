"""The collection of this checkout, importable as Ansible's plugins import it."""

from __future__ import annotations

import sys

from support.roles import COLLECTIONS


def use_collection() -> None:
    """Make `ansible_collections.clusterctl.gpu` importable."""
    if str(COLLECTIONS) not in sys.path:
        sys.path.append(str(COLLECTIONS))
