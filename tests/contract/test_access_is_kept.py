"""No role cuts its own connection: none restarts or stops the network, SSH or the network stack, and none unloads a kernel module.

What needs a restart of these waits for the reboot that the role asks for, which clusterctl plans.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROTECTED = re.compile(
    r"\b(sshd?(\.service|\.socket)?|systemd-networkd(\.service)?|NetworkManager(\.service)?|networking(\.service)?|openibd(\.service)?)$"
)
ENDING = ("restarted", "reloaded", "stopped")
UNLOADING = re.compile(r"\bmodprobe\s+(-\S*r|--remove)|\brmmod\b|/etc/init\.d/openibd|\bopenibd\s+(stop|restart|force)|\bmlnxofedctl\b")
TAKING_DOWN = re.compile(
    r"\bnetplan\s+(apply|try)\b|\bnmcli\s+(networking|con(nection)?\s+(down|reload)|dev(ice)?\s+dis)|\bifdown\b|\bnetworkctl\s+(reload|reconfigure)\b"
)
RESTARTING = re.compile(r"\bsystemctl\b[^|;&\n]*\b(?:try-)?(?:re(?:start|load)(?:-or-\w+)?|stop|kill)\b(?P<units>[^|;&\n]*)")
MODULES = ("ansible.builtin.service", "ansible.builtin.systemd", "ansible.builtin.systemd_service")
# Whose units come from variables; what these contain is tested below.
BY_VARIABLE = {
    "{{ item }}",
    "{{ __crash_evidence_kdump_unit }}",
    "{{ __nvlink_domain_unit }}",
    "{{ __os_tuning_chrony[ansible_facts.os_family].service }}",
}
SOURCES = sorted(p for folder in ("tasks", "handlers") for p in (ROOT / "roles").glob(f"*/{folder}/*.yml")) + sorted(
    p for p in (ROOT / "playbooks").rglob("*.yml") if "collections" not in p.parts
)
SCRIPTS = sorted(p for folder in ("files", "templates") for p in (ROOT / "roles").glob(f"*/{folder}/*") if p.is_file())


def tasks_of(tree: Any) -> Iterator[dict[str, Any]]:
    """All tasks of a file, those in blocks too."""
    for entry in tree if isinstance(tree, list) else []:
        if isinstance(entry, dict):
            yield entry
            for key in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers"):
                yield from tasks_of(entry.get(key))


def command_line(task: dict[str, Any]) -> str:
    """The command of a task as one line; empty for other modules."""
    for module in ("ansible.builtin.command", "ansible.builtin.shell", "ansible.builtin.raw"):
        value = task.get(module)
        if isinstance(value, dict):
            value = shlex.join(map(str, value["argv"])) if isinstance(value.get("argv"), list) else value.get("argv") or value.get("cmd")
        if value:
            return str(value)
    return ""


def dangers(text: str) -> list[str]:
    """What a command line or a script would cut."""
    found = [m[0] for pattern in (UNLOADING, TAKING_DOWN) for m in pattern.finditer(text)]
    return found + [m[0] for m in RESTARTING.finditer(text) if any(PROTECTED.search(word) for word in m["units"].replace("'", " ").split())]


def unit_dangers(task: dict[str, Any]) -> list[str]:
    """Units that a task ends although the node may need them to be reached."""
    for module in MODULES:
        options = task.get(module) or {}
        if options.get("state") in ENDING:
            name = str(options["name"])
            if PROTECTED.search(name) or ("{{" in name and name not in BY_VARIABLE):
                return [f"{options['state']}: {name}"]
    return []


@pytest.mark.parametrize("file", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_task_restarts_the_network_or_unloads_a_module(file: Path) -> None:
    tasks = list(tasks_of(load_yaml(file.read_text())))
    assert [danger for task in tasks for danger in (*unit_dangers(task), *dangers(command_line(task)))] == []


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_script_of_a_role_does(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]
    assert dangers("\n".join(lines)) == []


def test_the_profiles_stop_none_of_these_services() -> None:
    files = sorted((ROOT / "inventory").glob("*/group_vars/*/os_tuning.yml"))
    values = [load_yaml(f.read_text()) or {} for f in files]
    units = [u for v in values for key in ("os_tuning_services_disabled", "os_tuning_services_masked") for u in v.get(key) or []]
    assert units
    assert [u for u in units if PROTECTED.search(u)] == []


@pytest.mark.parametrize(
    "text",
    [
        "systemctl restart systemd-networkd",
        "systemctl try-restart -- ssh.service",
        "systemctl --no-block stop NetworkManager.service",
        "modprobe -r mlx5_ib",
        "modprobe --remove nvidia",
        "rmmod nouveau",
        "/etc/init.d/openibd restart",
        "netplan apply",
        "nmcli connection reload",
        "networkctl reload",
    ],
)
def test_the_test_finds_what_it_looks_for(text: str) -> None:
    assert dangers(text)


@pytest.mark.parametrize(
    "text", ["systemctl restart nvidia-persistenced", "systemctl start --no-block clusterctl-roce.service", "modprobe ib_umad"]
)
def test_it_leaves_the_rest_alone(text: str) -> None:
    assert dangers(text) == []
