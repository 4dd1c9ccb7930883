"""Playbooks that need no node, run with ansible-playbook."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.state import State
from support.provisioning import World, node
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

INVENTORY = """
all:
  vars: {ansible_connection: local, rack: r12}
  hosts:
    r12-n01: {node_roles: [hardware, kernel], waivers: [{check: a, reason: b, owner: c, expires: 2027-01-01}]}
    r12-n02: {node_roles: [kernel], roles_owned_elsewhere: {kernel: {owner: the image, change: edit it}}}
  children:
    wrong:
      hosts:
        no-roles: {}
        roles-no-list: {node_roles: kernel}
        wrong-order: {node_roles: [kernel, hardware]}
        no-rack: {node_roles: [kernel], rack: ""}
        misspelt-owned: {node_roles: [kernel], roles_owned_elsewhere: {kernels: {owner: the image, change: edit it}}}
        half-owned: {node_roles: [kernel], roles_owned_elsewhere: {kernel: {owner: the image}}}
        half-waiver: {node_roles: [kernel], waivers: [{check: a}]}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    return World(tmp_path)


def play(world: World, name: str, *args: str) -> subprocess.CompletedProcess[str]:
    folder = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "CLUSTERCTL_STATE_DIR": str(world.state_dir),
        "CLUSTERCTL_OPERATOR": "ada",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_NOCOLOR": "1",
    }
    argv: Sequence[str] = ["ansible-playbook", "-i", str(world.state_dir / "hosts.yml"), str(ROOT / "playbooks" / name), *args]
    return subprocess.run(argv, env=environment, cwd=ROOT, check=False, capture_output=True, text=True, timeout=120)


def registered(world: World, *members: str) -> None:
    with Store.open(world.url) as store:
        store.register([node(n) for n in ("r12-n01", "r12-n02")])
        for name in members:
            LocalPool.create(store).admit(name, "for the test")


def test_preflight_accepts_a_valid_inventory(world: World) -> None:
    done = play(world, "preflight.yml", "-l", "all:!wrong")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("no-roles", "node_roles is missing or empty"),
        ("roles-no-list", "node_roles is missing or empty"),
        ("wrong-order", "known roles, in order"),
        ("no-rack", "rack is not set"),
        ("misspelt-owned", "roles_owned_elsewhere: kernels is not in node_roles"),
        ("half-owned", "roles_owned_elsewhere: kernel is not in node_roles, or lacks owner or change"),
        ("half-waiver", "lacks one of check, reason, owner, expires"),
    ],
)
def test_preflight_reports_invalid_variables(world: World, host: str, message: str) -> None:
    done = play(world, "preflight.yml", "-l", host)
    assert done.returncode == 2
    assert message in done.stdout


def test_the_drain_playbook_drains_through_clusterctl(world: World) -> None:
    registered(world, "r12-n01", "r12-n02")
    done = play(world, "drain.yml", "-l", "r12-n01", "-e", '{"drain_reason": "fan 3 is dead"}')
    assert done.returncode == 0, done.stdout
    assert world.states() == {"r12-n01": State.DRAINED, "r12-n02": State.REGISTERED}
    assert world.reasons()["r12-n01"] == "fan 3 is dead"
    assert world.members() == {"r12-n02"}


def test_draining_half_of_the_pool_needs_force(world: World) -> None:
    registered(world, "r12-n01", "r12-n02")
    assert play(world, "drain.yml", "-l", "r12-n01,r12-n02", "-e", "drain_reason=x").returncode == 2
    assert world.members() == {"r12-n01", "r12-n02"}
    assert play(world, "drain.yml", "-l", "r12-n01,r12-n02", "-e", "drain_reason=x drain_force=true").returncode == 0
    assert world.members() == frozenset()


def test_quarantine_invalidates_the_evidence_of_a_node(world: World) -> None:
    registered(world, "r12-n01")
    done = play(world, "quarantine.yml", "-l", "r12-n01", "-e", "quarantine_reason=smells")
    assert done.returncode == 0, done.stdout
    assert world.states()["r12-n01"] is State.QUARANTINED
    with Store.open(world.url) as store:
        record = store.node("r12-n01")
    assert record is not None
    assert record.epoch == 1


@pytest.mark.parametrize("name", ["drain.yml", "quarantine.yml"])
def test_without_a_reason_nothing_happens(world: World, name: str) -> None:
    registered(world, "r12-n01")
    done = play(world, name, "-l", "r12-n01")
    assert done.returncode == 2
    assert f"{name.removesuffix('.yml')}_reason is missing" in done.stdout
    assert world.members() == {"r12-n01"}


WITHOUT_ROLES = """
all:
  vars: {ansible_connection: local, node_roles: []}
  hosts: {h1: , h2: , h3: }
  children:
    profile_lab_hgx_h200: {hosts: {h1: }}
    profile_lab_hgx_h100_roce: {hosts: {h2: }}
    profile_lab_gb200_nvl72: {hosts: {h3: }}
"""


def test_roles_that_a_node_does_not_have_are_skipped_whole(world: World) -> None:
    """Ansible evaluates the loop of a skipped task, and fails where that is more than undefined; variables are those of real profiles."""
    (world.state_dir / "hosts.yml").write_text(WITHOUT_ROLES)
    layers = [word for layer in ("common", "lab") for word in ("-i", str(ROOT / "inventory" / layer))]
    done = play(world, "provision.yml", *layers, "--check", "--limit", "h1,h2,h3", "-e", '{"node_roles": []}')
    assert done.returncode == 0, done.stdout[-3000:]
    ends = re.findall(r"changed=(\d+) .*failed=(\d+) +skipped=(\d+)", done.stdout)
    assert [(changed, failed) for changed, failed, _ in ends] == [("0", "0")] * 3
    assert all(int(skipped) > 100 for _, _, skipped in ends)


def test_no_role_that_is_owned_elsewhere_is_applied(world: World) -> None:
    """By plain Ansible, too: the image of a node, or the GPU Operator, is changed by nobody but its owner."""
    (world.state_dir / "hosts.yml").write_text(WITHOUT_ROLES.replace("node_roles: []", "roles_owned_elsewhere: '{{ owned_roles }}'"))
    layers = [word for layer in ("common", "lab") for word in ("-i", str(ROOT / "inventory" / layer))]
    names = [p.parent.parent.name for p in (ROOT / "roles").glob("*/tasks/main.yml")]
    owned = json.dumps({"owned_roles": {name: {"owner": "the image", "change": "edit it"} for name in names}})
    done = play(world, "provision.yml", *layers, "--check", "--limit", "h1", "-e", owned)
    assert done.returncode == 0, done.stdout[-3000:]
    ends = re.findall(r"changed=(\d+) .*failed=(\d+) +skipped=(\d+)", done.stdout)
    assert [(changed, failed) for changed, failed, _ in ends] == [("0", "0")]
    assert all(int(skipped) > 100 for _, _, skipped in ends)
