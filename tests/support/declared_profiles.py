"""What the profiles of the tree declare: one process of Ansible reads them for all tests of a worker of pytest, each profile once."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING
from unittest.mock import patch

from clusterctl.adapters.inventory.load import inventory_read_once, list_hosts, load_profile
from support.roles import ROOT

if TYPE_CHECKING:
    from clusterctl.model.node import NodeSpec
    from clusterctl.model.topology import Topology

COMMON = ROOT / "inventory" / "common"


@cache
def topology_of_the_tree() -> Topology:
    """The groups of the tree."""
    with patch.dict(os.environ, _read_once()):
        return list_hosts([COMMON])


@cache
def profiles_of_the_tree() -> tuple[str, ...]:
    """The names of the profiles that nodes may have, sorted."""
    return tuple(sorted(topology_of_the_tree().idle_profiles))


@cache
def declared_profile(name: str, *extra_vars: str) -> NodeSpec:
    """What a profile declares; do not change what it holds.

    Raises:
        SpecInvalidError: it breaks the schema of a role with these extra variables.
    """
    with patch.dict(os.environ, _read_once()):
        return load_profile([COMMON], name, extra_vars=extra_vars, content=ROOT)


@cache
def _read_once() -> dict[str, str]:
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(inventory_read_once([COMMON]))
