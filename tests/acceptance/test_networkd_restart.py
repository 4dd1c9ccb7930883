"""Rules and routes of the rails across a restart of the real systemd-networkd, which an upgrade of it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.vm import Vm
    from support.vm_site import VmSite

DROPIN = "/etc/systemd/networkd.conf.d/50-clusterctl-roce.conf"
SOURCE, PRIORITY, TABLE = "10.35.0.1", 1000, 100
# As roles/roce/files/clusterctl_roce.py sets them for rail 0; it cannot run here, because the machine has no adapter: rail0 stands for one.
REMOVE = f"""ip link del rail0 2>/dev/null || true
ip rule del priority {PRIORITY} 2>/dev/null || true"""
LAY = f"""set -e
{REMOVE}
ip link add rail0 type dummy
ip address add {SOURCE}/24 dev rail0
ip link set rail0 up
ip rule add from {SOURCE} table {TABLE} priority {PRIORITY}
ip route add 10.35.0.0/24 dev rail0 table {TABLE}"""
RESTART = "systemctl restart systemd-networkd; /lib/systemd/systemd-networkd-wait-online --timeout 30; sleep 1"


@pytest.fixture(scope="module")
def role_applied(vm: Vm, site: VmSite, report: Callable[[str], None]) -> Iterator[Vm]:
    """The role installs its files; then it refuses the machine, which has no adapter."""
    rail = {"device": "mlx5_0", "rail": 0, "address": f"{SOURCE}/24"}
    site.declare(node_roles=["roce"], roce_rails=[rail], roce_packages=[], roce_networkd_packages=[])
    applied = site.play("provision.yml")
    assert "absent or not an Ethernet port" in applied.output, applied.output
    report("role roce installed its files")
    yield vm
    vm.shell(f"systemctl disable --quiet clusterctl-roce.service; rm -f {DROPIN}; systemctl restart systemd-networkd\n{REMOVE}")


def laid(vm: Vm) -> tuple[bool, bool]:
    """Whether the rail's rule and its route are there."""
    rules, routes = vm.shell("ip rule show"), vm.shell(f"ip route show table {TABLE}", check=False)
    return f"{PRIORITY}:\tfrom {SOURCE} lookup {TABLE}" in rules, "10.35.0.0/24" in routes


def test_the_role_keeps_rules_and_routes_across_a_restart(role_applied: Vm) -> None:
    role_applied.shell(f"{RESTART}; {LAY}")
    assert laid(role_applied) == (True, True)
    role_applied.shell(RESTART)
    assert laid(role_applied) == (True, True)


def test_without_the_role_networkd_removes_the_rule(role_applied: Vm) -> None:
    role_applied.shell(f"mv {DROPIN} /var/tmp/dropin.conf; {RESTART}; {LAY}")
    try:
        assert laid(role_applied) == (True, True)
        role_applied.shell(RESTART)
        assert laid(role_applied)[0] is False
    finally:
        role_applied.shell(f"mv /var/tmp/dropin.conf {DROPIN}; systemctl restart systemd-networkd")
