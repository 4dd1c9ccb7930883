"""The finding about the M_Key with a real opensm, smpquery and saquery on ibsim, whose ports get the key that they lack from a preloaded library."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from clusterctl_tools.port_info import own_port_argv, record_argv
from clusterctl_validators import test_infiniband as module
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.ib_fabric import FabricHost
from support.keyed_fabric import KeyedFabric, missing_for_keys
from support.port_info import CHECK, LID, Subnet, subnets

if TYPE_CHECKING:
    from pathlib import Path

MISSING = missing_for_keys()
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"missing: {', '.join(MISSING)}; apt-get install ibsim-utils opensm infiniband-diags gcc"
)
HOST = 3
SPEC = {
    "infiniband_ports": [{"device": "ibsim0", "port": 1, "rate_gbps": 104}],
    "infiniband_subnet_manager": True,
    "infiniband_m_key": True,
}
# ibsim invents the lease period of a port.
CHANGING = re.compile(r"\[\d+\]|MkeyLeasePeriod:\.*\d+")


@pytest.mark.parametrize("subnet", [s for s in subnets() if s.key], ids=lambda s: s.name)
def test_the_key_of_a_subnet(subnet: Subnet, tmp_path: Path) -> None:
    with KeyedFabric(tmp_path, subnet.key, subnet.level) as fabric:
        record = Record("infiniband")
        probe = Probe(FabricHost(fabric, HOST, fabric.sysfs(HOST, tmp_path / "root")))
        for check in (module.test_management_key, module.test_subnet_manager):
            check(SpecView("infiniband", SPEC), record, probe)
        ran = {argv[0]: fabric.run(HOST, argv) for argv in (own_port_argv("ibsim0", 1), record_argv("ibsim0", 1, LID))}
    found = {f.check: f for f in record.findings}
    assert found[CHECK].outcome.value == subnet.outcome
    assert subnet.says in (found[CHECK].reason or found[CHECK].found)
    # opensm answers sminfo without the key at levels 0 and 1 only; that it manages the port shows elsewhere then.
    manager = found["infiniband.ports[ibsim0].subnet_manager"]
    shown = "SMINFO_MASTER" if subnet.level <= 1 or not int(subnet.key, 16) else "no answer to sminfo, but of the subnet administration"
    assert (manager.outcome.value, manager.found) == ("pass", f"{shown} at lid 1")
    for tool, answer in ran.items():
        recorded = subnet.answer(tool)
        assert answer.rc == recorded.rc
        for now, then in ((answer.stdout, recorded.stdout), (answer.stderr, recorded.stderr)):
            assert CHANGING.sub("", now) == CHANGING.sub("", then)
