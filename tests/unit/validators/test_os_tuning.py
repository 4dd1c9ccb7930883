from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_os_tuning as module
from clusterctl_validators.finding import GOOD
from clusterctl_validators.probe import ProbeError
from support.os_node import Case, cases, findings
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

ROLE = load_role(ROOT / "roles" / "os_tuning")


@pytest.mark.parametrize("case", cases("os_tuning"), ids=lambda c: c.name)
def test_findings_of_a_node(case: Case, tmp_path: Path) -> None:
    found = findings(case, module, tmp_path)
    assert {check: f.outcome.value for check, f in found.items() if f.outcome not in GOOD} == case.outcomes


def test_the_healthy_node_declares_every_argument() -> None:
    assert cases("os_tuning")[0].declared == set(ROLE.options)


def test_every_finding_has_a_hint(tmp_path: Path) -> None:
    for case in cases("os_tuning"):
        found = findings(case, module, tmp_path / case.name)
        assert [c for c, f in found.items() if f.outcome.value == "fail" and not f.hint] == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/etc/sysctl.d/net_vm_swappiness.conf", "apply the role os_tuning"),
        ("/usr/lib/sysctl.d/99-vendor.conf", "an empty /etc/sysctl.d/99-vendor.conf hides the file of the package"),
        ("/run/sysctl.d/99-vendor.conf", "an empty /etc/sysctl.d/99-vendor.conf hides the file of the package"),
    ],
)
def test_the_next_action_where_another_file_wins(path: str, words: str, tmp_path: Path) -> None:
    """The role changes files of /etc only; a file there hides those of its name elsewhere (sysctl.d(5))."""
    found = findings(Case("os_tuning", "later", {"files": {path: "vm.swappiness=80\n"}}, {}), module, tmp_path)
    one = found["os_tuning.sysctl[vm.swappiness].persisted"]
    assert (one.outcome.value, one.found) == ("fail", f"80 in {path}")
    assert words in one.hint


def test_defaults_declare_nothing(tmp_path: Path) -> None:
    found = findings(Case("os_tuning", "defaults", {"spec": ROLE.defaults}, {}), module, tmp_path)
    assert {f.outcome.value for f in found.values()} == {"not_applicable"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"commands": {"chronyc -N -c sources": {"rc": 1, "stdout": "506 Cannot talk to daemon"}}}, "506 Cannot talk"),
        ({"commands": {"chronyc -N -c tracking": "garbage"}}, "1 fields instead of 14"),
        ({"files": {"/etc/chrony/chrony.conf": None}}, "chrony.conf is absent"),
        ({"files": {"/sys/devices/system/cpu/cpu0/cpuidle/state3/latency": None}}, "latency or disable is absent"),
        ({"spec": {"os_tuning_systemd_limits": {"CORE": "0"}}}, "systemctl"),
    ],
    ids=["chrony is silent", "chrony says garbage", "no configuration", "no latencies", "no manager"],
)
def test_an_unreadable_value_is_not_a_pass(change: dict[str, Any], error: str, tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match=error):
        findings(Case("os_tuning", error, change, {}), module, tmp_path)


def test_a_node_without_apt_has_no_periodic_jobs(tmp_path: Path) -> None:
    change = {"commands": {"apt-config dump APT::Periodic": {"rc": None, "error": "apt-config: No such file or directory"}}}
    found = findings(Case("os_tuning", "rhel", change, {}), module, tmp_path)
    assert found["os_tuning.auto_upgrades.periodic"].outcome.value == "not_applicable"


# Oracle's Ubuntu images restore rules of this form at boot; oci-hpc empties the file, for MPI fails with them (roles/firewall/tasks/ubuntu.yml).
RULES = "/etc/iptables/rules.v4"
REJECTING = "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n-A INPUT -j REJECT --reject-with icmp-host-prohibited\nCOMMIT\n"
RESTORED = {"netfilter-persistent.service": ["loaded", "active", "enabled"]}


def test_rules_that_are_restored_although_no_firewall_is_declared(tmp_path: Path) -> None:
    found = findings(Case("os_tuning", "saved", {"files": {RULES: REJECTING}, "units": RESTORED}, {}), module, tmp_path)
    assert found["os_tuning.firewall[iptables]"].outcome.value == "warn"
    assert "os_tuning.firewall[iptables]" not in findings(Case("os_tuning", "none", {}, {}), module, tmp_path / "none")


# As proc_net shows routes (net/ipv4/fib_trie.c, net/ipv6/route.c): docker's bridge has one of IPv4 on a node that is reached by IPv6 alone.
_NO_DEFAULT = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\ndocker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\n"
_DEFAULT = _NO_DEFAULT + "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n"
_NONE = "0" * 32
_DEFAULT_6 = f"{_NONE} 00 {_NONE} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n"
_LOOPBACK = f"{_NONE} 00 {_NONE} 00 {_NONE} ffffffff 00000001 00000000 00200200       lo\n"
REJECTING_6 = ":INPUT DROP [0:0]\n-A INPUT -p ipv6-icmp -j ACCEPT\n"


@pytest.mark.parametrize(
    ("routes", "routes_6", "warns"),
    [(_NO_DEFAULT, _LOOPBACK + _DEFAULT_6, True), (_DEFAULT, _DEFAULT_6, False), (_NO_DEFAULT, _LOOPBACK, False), (None, None, False)],
)
@pytest.mark.parametrize(("path", "unit"), [("/etc/iptables/rules.v6", "netfilter-persistent"), ("/etc/sysconfig/ip6tables", "ip6tables")])
def test_rules_of_ipv6_count_where_nothing_else_leads_to_a_node(
    routes: str | None, routes_6: str | None, warns: bool, path: str, unit: str, tmp_path: Path
) -> None:
    files = {path: REJECTING_6, "/proc/net/route": routes, "/proc/net/ipv6_route": routes_6}
    change = {
        "spec": {"os_tuning_firewall_off": False},
        "files": {k: v for k, v in files.items() if v is not None},
        "units": {unit + ".service": ["loaded", "active", "enabled"]},
    }
    found = findings(Case("os_tuning", "six", change, {}), module, tmp_path)["os_tuning.firewall"]
    assert (found.outcome.value, found.found) == (("warn", "iptables is active") if warns else ("not_applicable", ""))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"files": {"/etc/ufw/ufw.conf": "# comment\nENABLED=yes\nLOGLEVEL=low\n"}}, "ufw is active"),
        ({"files": {"/etc/ufw/ufw.conf": "ENABLED=no\n"}}, ""),
        ({"units": {"nftables.service": ["loaded", "active", "enabled"]}}, "nftables is active"),
        ({"files": {RULES: REJECTING}, "units": RESTORED}, "iptables is active"),
        ({"files": {RULES: REJECTING}}, ""),
        (
            {"files": {RULES: ":INPUT ACCEPT [0:0]\n-A INPUT -m state --state INVALID -j DROP\n-A FORWARD -j REJECT\n"}, "units": RESTORED},
            "",
        ),
        (
            {"files": {"/etc/sysconfig/iptables": ":INPUT DROP [0:0]\n"}, "units": {"iptables.service": ["loaded", "inactive", "enabled"]}},
            "iptables is active",
        ),
    ],
)
def test_rules_of_another_firewall_are_a_warning(change: dict[str, Any], found: str, tmp_path: Path) -> None:
    spec = {"os_tuning_firewall_off": False, "os_tuning_firewall_trusted": ["192.0.2.0/24"]}
    seen = findings(Case("os_tuning", "other", {"spec": spec, **change}, {}), module, tmp_path)["os_tuning.firewall"]
    assert (seen.outcome.value, seen.found) == (("warn", found) if found else ("not_applicable", seen.found))


@pytest.mark.parametrize("version", ["", "systemd/"])
def test_a_firewall_between_the_nodes_is_told_where_it_is_not_managed(version: str, tmp_path: Path) -> None:
    spec = {"os_tuning_firewall_off": False}
    running = {f"/sys/fs/cgroup/{version}system.slice/firewalld.service/cgroup.procs": "812\n"}
    found = findings(Case("os_tuning", "up", {"spec": spec, "files": running}, {}), module, tmp_path / "up")["os_tuning.firewall"]
    assert (found.outcome.value, "zone trusted" in found.hint) == ("warn", True)
    found = findings(Case("os_tuning", "down", {"spec": spec}, {}), module, tmp_path / "down")["os_tuning.firewall"]
    assert found.outcome.value == "not_applicable"
