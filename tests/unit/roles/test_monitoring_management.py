"""The role and the validator find one management address, of IPv4 or IPv6; what `ip` prints was recorded in network namespaces."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from clusterctl_tools import ip_route
from clusterctl_validators import test_monitoring as module
from clusterctl_validators.probe import CommandResult, Probe, ProbeError
from support.checks import InventedNode, write_files
from support.local_play import run_play

if TYPE_CHECKING:
    from pathlib import Path

IPV4, IPV6 = (" ".join(ip_route.default_route_argv(beyond)) for beyond in ip_route.BEYOND)
NONE = CommandResult(2, stderr="RTNETLINK answers: Network is unreachable")
OVER_IPV4 = CommandResult(0, "192.0.2.1 via 10.89.243.1 dev eth0 src 10.89.243.11 uid 0 \\    cache \n")
OVER_IPV6 = CommandResult(0, "2001:db8::1 from :: via 2001:db8:5::1 dev eth0 src 2001:db8:5::11 metric 1024 pref medium\n")
LINK_LOCAL = CommandResult(0, "2001:db8::1 from :: via 2001:db8:5::1 dev eth0 src fe80::34f9:efff:fe13:6b53 metric 1024 pref medium\n")


@pytest.mark.parametrize(
    ("over_ipv4", "over_ipv6", "address"),
    [
        (OVER_IPV4, NONE, "10.89.243.11"),
        (OVER_IPV4, OVER_IPV6, "10.89.243.11"),
        (NONE, OVER_IPV6, "[2001:db8:5::11]"),
        (NONE, LINK_LOCAL, ""),
        (NONE, NONE, ""),
    ],
)
def test_role_and_validator_find_the_same_address(tmp_path: Path, over_ipv4: CommandResult, over_ipv6: CommandResult, address: str) -> None:
    answers = {IPV4: over_ipv4, IPV6: over_ipv6}
    probe = Probe(InventedNode(write_files(tmp_path / "root", {}), answers))
    program = tmp_path / "ip"
    cases = [f"'{argv}') echo '{a.stdout.strip()}'; echo '{a.stderr}' >&2; exit {a.rc};;" for argv, a in answers.items()]
    program.write_text('#!/bin/sh\ncase "ip $*" in\n' + "\n".join(cases) + "\nesac\n")
    program.chmod(0o755)
    tasks = [
        {"ansible.builtin.include_role": {"name": "monitoring", "tasks_from": "management.yml", "public": True}},
        {"ansible.builtin.debug": {"msg": "listens={{ __monitoring_node.listen }}"}},
    ]
    done = run_play(tmp_path, tasks, environment={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    if address:
        assert re.findall(r"listens=([^\"]+)", done.output) == [f"{address}:9100"], done.output
        assert module._resolved("management:9100", probe) == f"{address}:9100"
    else:
        assert done.code != 0
        assert "tcp_l3mdev_accept" in done.output
        with pytest.raises(ProbeError, match="no address of this node"):
            module._resolved("management:9100", probe)
