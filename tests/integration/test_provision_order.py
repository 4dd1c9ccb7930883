"""The roles of `node_roles` and their order: preflight.yml checks them, provision.yml applies them, site roles included."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.ansible.runner import PlaybookRequest, PlaybookStatus, run_playbook
from clusterctl.model.task_event import TaskEvent, TaskStatus
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = ROOT / "inventory" / "example"
RACKS = sorted(f.stem.replace("-", "_") for f in EXAMPLE.glob("rack-*.yml"))
SITE_ROLE = """
- name: Set the message
  ansible.builtin.copy: {content: "{{ inventory_hostname }}\\n", dest: "%s", mode: "0644"}
- name: Part of it
  ansible.builtin.debug: {msg: part}
  tags: [part]
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site with two roles of its own."""
    for name in ("mirror", "motd"):
        tasks = tmp_path / "roles" / name / "tasks"
        tasks.mkdir(parents=True)
        (tasks / "main.yml").write_text(SITE_ROLE % (tmp_path / name))
    return tmp_path


def hosts(site: Path, **roles: Sequence[str]) -> Path:
    """An inventory whose nodes are all this machine, with these roles."""
    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "rack": "r1"}
    (site / "hosts.json").write_text(json.dumps({"all": {"vars": variables, "hosts": {n: {"node_roles": r} for n, r in roles.items()}}}))
    return site / "hosts.json"


def preflight(*words: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    playbook = [str(Path(sys.executable).with_name("ansible-playbook")), *words, str(ROOT / "playbooks" / "preflight.yml")]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8", **environment}
    return subprocess.run(playbook, cwd=cwd, env=env, check=False, capture_output=True, text=True, timeout=300)


def shown(site: Path, monkeypatch: pytest.MonkeyPatch, *tags: str, **roles: Sequence[str]) -> list[TaskEvent]:
    """The events of `provision.yml --check --diff`; all nodes are this machine, which must not change."""
    monkeypatch.setenv("ANSIBLE_ROLES_PATH", f"{ROOT / 'roles'}:{site / 'roles'}")
    events: list[TaskEvent] = []
    request = PlaybookRequest("provision.yml", (hosts(site, **roles),), tuple(roles), tags=tags, check=True, diff=True)
    done = run_playbook(request, site / "artifacts", on_event=events.append)
    assert done.status is PlaybookStatus.COMPLETED, done
    assert all(not h.failures for h in done.hosts.values()), done
    return [e for e in events if e.status is TaskStatus.OK]


def order(events: Sequence[TaskEvent], node: str) -> list[str]:
    """The roles that ran tasks on a node, in order."""
    return list(dict.fromkeys(e.role for e in events if e.node == node and e.role and "arguments" not in e.task))


@pytest.mark.parametrize("rack", RACKS)
def test_preflight_passes_on_every_rack_of_the_example(rack: str) -> None:
    done = preflight("-i", "inventory/common", "-i", "inventory/example", "-l", rack)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    declared = load_yaml((EXAMPLE / f"{rack.replace('_', '-')}.yml").read_text())
    assert declared, "a rack without nodes proves nothing"
    assert done.stdout.count("failed=0") > 1


@pytest.mark.parametrize(
    ("roles", "reported"),
    [
        (["mirror", "kernel", "motd"], ""),
        (["hardwear", "kernel"], "unknown role hardwear;"),
        (["kernel", "hardware"], "known roles, in order: hardware, bios, kernel"),
        (["kernel", "kernel"], "each role once"),
        (["kernel", "motd", "nccl"], "roles of the site come before or after all of these"),
    ],
)
def test_preflight_checks_names_and_order(site: Path, roles: list[str], reported: str) -> None:
    done = preflight("-i", str(hosts(site, n1=roles)), cwd=site, ANSIBLE_ROLES_PATH=str(site / "roles"))
    assert done.returncode == (2 if reported else 0), done.stdout
    assert reported in done.stdout


def test_site_roles_are_applied_in_their_position(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = shown(site, monkeypatch, n1=["mirror", "nccl", "motd"], n2=["motd", "nccl"], n3=["nccl"])
    assert order(events, "n1") == ["mirror", "nccl", "motd"]
    assert order(events, "n2") == ["motd", "nccl"]
    assert order(events, "n3") == ["nccl"]


def test_check_mode_and_tags_apply_to_site_roles(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = shown(site, monkeypatch, "motd", n1=["mirror", "nccl", "motd"])
    assert order(events, "n1") == ["motd"]
    changed = [e for e in events if e.changed]
    assert [(e.role, e.task) for e in changed] == [("motd", "Set the message")]
    assert "+n1" in changed[0].diff
    assert not (site / "motd").exists()
