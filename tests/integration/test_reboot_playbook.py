"""playbooks/reboot.yml without real nodes: refused nodes, the order of reboots, and devices that do not come back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterctl.adapters.store import Store
from clusterctl.model.state import State
from support.plain_yaml import load_yaml
from support.provisioning import World, node
from support.roles import ROOT

# A local connection with another name, because the module reboot refuses local connections, even in check mode.
CONNECTION = """
from ansible.plugins.connection.local import Connection as Local
DOCUMENTATION = '''
name: elsewhere
short_description: local, under another name
description: [For tests.]
options: {}
extends_documentation_fragment: [connection_pipelining]
'''
class Connection(Local):
    transport = "elsewhere"
"""
INVENTORY = """
all:
  vars: {ansible_connection: elsewhere, ansible_python_interpreter: %s}
  hosts:
    r12-n01: {rack: r12}
    r12-n02: {rack: r12}
    r12-n03: {rack: r12}
    r13-n01: {rack: r13}
"""
NAMES = ("r12-n01", "r12-n02", "r12-n03", "r13-n01")


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "hosts.yml").write_text(INVENTORY % sys.executable)
    (tmp_path / "connection").mkdir()
    (tmp_path / "connection" / "elsewhere.py").write_text(CONNECTION)
    return World(tmp_path, names=NAMES)


def play(world: World, playbook: Path, *args: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "CLUSTERCTL_STATE_DIR": str(world.state_dir),
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_CONNECTION_PLUGINS": str(world.state_dir / "connection"),
        "ANSIBLE_NOCOLOR": "1",
    }
    argv = ["ansible-playbook", "-i", str(world.state_dir / "hosts.yml"), str(playbook), *args]
    return subprocess.run(argv, env=environment, cwd=ROOT, check=False, capture_output=True, text=True, timeout=120)


def reboot(world: World, *args: str) -> subprocess.CompletedProcess[str]:
    return play(world, ROOT / "playbooks" / "reboot.yml", "--check", *args)


def registered(world: World, *drained: str) -> None:
    with Store.open(world.url) as store:
        store.register([node(n) for n in NAMES])
        for name in drained:
            store.transition(name, State.DRAINED, run_id="", operator="ada", reason="for the test")


def rebooted_batches(output: str) -> list[list[str]]:
    """The nodes of each reboot task, in order."""
    parts = re.split(r"^TASK \[", output, flags=re.MULTILINE)
    return [sorted(re.findall(r"^changed: \[([^\]]+)\]", p, re.MULTILINE)) for p in parts if p.startswith("Reboot and wait for SSH")]


def test_only_drained_nodes_are_rebooted(world: World) -> None:
    registered(world, "r12-n01")
    done = reboot(world, "-l", "r12-n01,r12-n02")
    assert done.returncode == 2
    assert "r12-n02 is registered: only drained nodes are rebooted; run `clusterctl drain r12-n02" in " ".join(done.stdout.split())
    assert rebooted_batches(done.stdout) == [["r12-n01"]], done.stdout


def test_a_node_with_a_lease_is_refused(world: World) -> None:
    registered(world, "r12-n01")
    with Store.open(world.url) as store:
        store.acquire(["r12-n01"], run_id="20260101-other", holder="bob", ttl_s=600)
        done = reboot(world, "-l", "r12-n01")
    assert done.returncode == 2
    assert "held by bob" in done.stdout
    assert rebooted_batches(done.stdout) == []


def test_an_unregistered_node_is_refused(world: World) -> None:
    with Store.open(world.url) as store:
        store.register([node("r12-n01")])
    assert reboot(world, "-l", "r13-n01").returncode == 2


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        ("50%", [["r12-n01", "r13-n01"], ["r12-n02"], ["r12-n03"]]),
        ("2", [["r12-n01", "r12-n02", "r13-n01"], ["r12-n03"]]),
        ("100%", [list(NAMES)]),
    ],
)
def test_the_budget_limits_simultaneous_reboots_of_a_rack(world: World, budget: str, expected: list[list[str]]) -> None:
    done = reboot(world, "-e", "provision_out_of_pool=true", "-e", f"reboot_budget={budget}")
    assert done.returncode == 0, done.stdout
    assert rebooted_batches(done.stdout) == expected


def test_a_node_that_does_not_come_back_uses_up_the_budget(world: World) -> None:
    command = "{{ (inventory_hostname == 'r12-n01') | ternary('false', 'true') }}"
    done = reboot(world, "-e", "provision_out_of_pool=true", "-e", "reboot_budget=1", "-e", f'{{"reboot_boot_id_command": "{command}"}}')
    assert done.returncode == 2
    assert rebooted_batches(done.stdout) == [["r13-n01"]], "the other nodes of its rack must stay up"
    assert "not rebooted: r12-n01 did not come back" in done.stdout


@pytest.mark.parametrize("budget", ["0", "0%", "101%", "many", "-1"])
def test_an_invalid_budget_is_refused(world: World, budget: str) -> None:
    done = reboot(world, "-e", "provision_out_of_pool=true", "-e", f"reboot_budget={budget}")
    assert done.returncode == 2
    assert "is neither a number of nodes" in done.stdout
    assert rebooted_batches(done.stdout) == []


DEVICES = f"""
- hosts: r12-n01
  gather_facts: false
  tasks:
    - include_tasks: {ROOT}/playbooks/tasks/reboot_devices.yml
"""


BOOT = f"""
- hosts: r12-n01
  gather_facts: false
  tasks:
    - include_tasks: {ROOT}/playbooks/tasks/reboot_boot.yml
"""


def boot(world: World, systemctl: str) -> subprocess.CompletedProcess[str]:
    tool = world.state_dir / "bin" / "systemctl"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{systemctl}\n")
    tool.chmod(0o755)
    (world.state_dir / "boot.yml").write_text(BOOT)
    return play(world, world.state_dir / "boot.yml", "-e", "reboot_devices_timeout_s=3", path=str(tool.parent))


def test_the_playbook_waits_for_the_boot_to_complete(world: World) -> None:
    there = world.state_dir / "there"
    done = boot(world, f"test -e {there} && echo degraded || echo starting; touch {there}; exit 1")
    assert done.returncode == 0, done.stdout
    assert "FAILED - RETRYING" in done.stdout


@pytest.mark.parametrize(("systemctl", "state"), [("echo maintenance; exit 1", "maintenance"), ("echo no bus >&2; exit 1", "no bus")])
def test_a_boot_with_unknown_state_is_not_complete(world: World, systemctl: str, state: str) -> None:
    done = boot(world, systemctl)
    assert done.returncode == 2
    assert f"systemctl is-system-running: {state}" in " ".join(done.stdout.split())


def test_a_boot_that_does_not_complete_lists_the_starting_units(world: World) -> None:
    done = boot(world, "[ $1 = is-system-running ] && echo starting && exit 1; echo '123 clusterctl-roce.service start running'")
    assert done.returncode == 2
    output = " ".join(done.stdout.split())
    assert (
        "the boot was not complete 3 s after SSH answered: systemctl is-system-running: starting; still starting: clusterctl-roce.service"
        in output
    )


def devices(world: World, smi: str, *variables: str) -> subprocess.CompletedProcess[str]:
    tool = world.state_dir / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    if smi:
        tool.write_text(f"#!/bin/sh\n{smi}\n")
        tool.chmod(0o755)
    (world.state_dir / "devices.yml").write_text(DEVICES)
    return play(world, world.state_dir / "devices.yml", *(w for v in variables for w in ("-e", v)), path=str(tool.parent))


def test_the_playbook_waits_for_gpus(world: World) -> None:
    there = world.state_dir / "there"
    smi = f"echo GPU 0: H100; echo '  MIG 1g.10gb Device 0:'; test -e {there} && echo GPU 1: H100; touch {there}"
    done = devices(world, smi, "reboot_gpus=2", "reboot_devices_timeout_s=60")
    assert done.returncode == 0, done.stdout
    assert "FAILED - RETRYING" in done.stdout


def test_missing_gpus_are_counted(world: World) -> None:
    began = time.monotonic()
    done = devices(world, "echo GPU 0: H100", '{"node_roles": ["nvidia_driver"], "hardware_gpus": 2}', "reboot_devices_timeout_s=3")
    assert done.returncode == 2
    assert "1 of 2 GPUs are back" in done.stdout
    assert time.monotonic() - began < 60


def test_links_that_stay_down_are_listed(world: World) -> None:
    done = devices(
        world, "", '{"infiniband_ports": [{"device": "mlx5_77"}, {"device": "mlx5_78", "port": 2}]}', "reboot_devices_timeout_s=2"
    )
    assert done.returncode == 2
    assert "links down after the reboot: mlx5_77, mlx5_78" in done.stdout


def test_a_node_without_declared_devices_is_not_waited_for(world: World) -> None:
    done = devices(world, "exit 1", '{"node_roles": ["kernel"], "hardware_gpus": 8}')
    assert done.returncode == 0, done.stdout


FABRIC = '{"reboot_links": [], "node_roles": ["nvidia_driver"], "hardware_gpus": 2, "hardware_gpu_nvlinks": 2, "hardware_gpu_fabric": true}'
# Labels of -q as 580.159.04 prints them in XML; `In Progress` has no status yet.
SMI = """
case "$*" in
-L) echo "GPU 0: B200"; echo "GPU 1: B200" ;;
"nvlink -s") links=$(ls {seen} | grep -c link)
  for gpu in 0 1; do echo "GPU $gpu: B200"; for link in 0 1; do
    [ $links -ge {links} ] && echo "	 Link $link: 53.125 GB/s" || echo "	 Link $link: <inactive>"; done; done
  touch {seen}/link$links ;;
"-q -x") asked=$(ls {seen} | grep -c fabric)
  for gpu in 0 1; do
    [ $asked -ge {fabric} ] && state=Completed || state="In Progress"
    printf '\\t<fabric>\\n\\t\\t<state>%s</state>\\n\\t\\t<status>N/A</status>\\n\\t\\t<health><summary>N/A</summary></health>\\n\\t</fabric>\\n' "$state"; done
  touch {seen}/fabric$asked ;;
*) exit 3 ;;
esac
"""


def coming_up(world: World, *, links_after: int, fabric_after: int, limit_s: int) -> tuple[str, int, int]:
    """Output, and how often NVLinks and fabric were queried, of nodes on which either is up only after some queries."""
    seen = world.state_dir / "seen"
    seen.mkdir()
    done = devices(world, SMI.format(seen=seen, links=links_after, fabric=fabric_after), FABRIC, f"reboot_nvlink_timeout_s={limit_s}")
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split()), len(list(seen.glob("link*"))), len(list(seen.glob("fabric*")))


def test_the_playbook_waits_for_nvlinks_and_then_for_the_fabric(world: World) -> None:
    output, links, fabric = coming_up(world, links_after=1, fabric_after=2, limit_s=300)
    assert (links, fabric) == (2, 3)
    assert "FAILED - RETRYING: [r12-n01]: Wait until the declared NVLinks are active" in output
    assert "FAILED - RETRYING: [r12-n01]: Wait until the GPUs have joined the NVLink fabric" in output
    assert "not up" not in output


def test_active_nvlinks_prove_nothing_about_the_fabric(world: World) -> None:
    output, links, _ = coming_up(world, links_after=0, fabric_after=99, limit_s=3)
    assert links == 1
    assert "not up 3 s later: 4 of 4 NVLinks are active, 0 of 2 GPUs have joined the fabric; the validators judge it" in output


def test_what_is_not_up_at_the_limit_fails_no_node(world: World) -> None:
    output, _, _ = coming_up(world, links_after=99, fabric_after=99, limit_s=1)
    assert "not up 1 s later: 0 of 4 NVLinks are active, 0 of 2 GPUs have joined the fabric" in output
    assert "failed=0" in output


@pytest.mark.parametrize(
    "declared",
    [
        '{"node_roles": ["kernel"], "hardware_gpus": 2, "hardware_gpu_nvlinks": 2, "hardware_gpu_fabric": true}',
        '{"node_roles": ["nvidia_driver"], "hardware_gpus": 0, "hardware_gpu_nvlinks": 2, "hardware_gpu_fabric": true}',
        '{"node_roles": ["nvidia_driver"], "hardware_gpus": 2}',
    ],
)
def test_nvlinks_that_are_not_declared_are_not_waited_for(world: World, declared: str) -> None:
    done = devices(world, "[ $1 = -L ] && { echo GPU 0: L40S; echo GPU 1: L40S; exit; }; exit 9", declared)
    assert done.returncode == 0, done.stdout
    assert "RETRYING" not in done.stdout
    assert "not up" not in done.stdout


def test_devices_are_not_waited_for_where_later_roles_bring_their_drivers(world: World) -> None:
    """The reboot itself runs in check mode, which waits for nothing, so the condition is read from the playbook."""
    turn = load_yaml((ROOT / "playbooks" / "tasks" / "reboot_turn.yml").read_text())
    (condition,) = (t["when"] for t in turn if t["name"] == "Wait for the devices")
    (world.state_dir / "wait.yml").write_text(
        "- hosts: r12-n01\n  gather_facts: false\n  tasks:\n    - debug: {msg: devices are awaited}\n" + f"      when: {condition}\n"
    )
    assert "devices are awaited" in play(world, world.state_dir / "wait.yml").stdout
    assert "devices are awaited" not in play(world, world.state_dir / "wait.yml", "-e", "reboot_wait_devices=false").stdout
