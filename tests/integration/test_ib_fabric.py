"""The checks of the role infiniband with a real opensm and the real infiniband-diags on ibsim."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools.infiniband_diags import by_near_end, parse_iblinkinfo, parse_ibnetdiscover
from clusterctl_validators import test_infiniband as module
from clusterctl_validators.finding import Outcome
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.ib_fabric import HOSTS_PER_LEAF, LEAVES, Fabric, FabricHost, missing_tools
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl_validators.finding import Finding

MISSING = missing_tools()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}; apt-get install ibsim-utils opensm infiniband-diags")
SCRIPT = ROOT / "roles" / "infiniband" / "files" / "clusterctl_infiniband.py"
DEGRADED = 3
# The rate that ibsim reports for a healthy HDR link with four lanes.
HEALTHY_GBPS = 104


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fabric]:
    with Fabric(tmp_path_factory.mktemp("fabric"), degraded=[DEGRADED]) as running:
        yield running


def planned(host: int) -> dict[str, Any]:
    leaf, port = divmod(host - 1, HOSTS_PER_LEAF)
    return {"device": "ibsim0", "port": 1, "peer": f"leaf{leaf + 1:02d}", "peer_port": str(port + 1)}


def judged(fabric: Fabric, host: int, root: Path, **other: Any) -> dict[str, Finding]:
    """The findings about port, subnet manager and cabling of a host, compared with a healthy declaration."""
    variables = {
        "infiniband_ports": [{"device": "ibsim0", "port": 1, "rate_gbps": HEALTHY_GBPS}],
        "infiniband_subnet_manager": True,
        "infiniband_pkeys": [],
        "infiniband_sharp": False,
        "infiniband_cabling": [planned(host)],
    }
    spec, record = SpecView("infiniband", variables | other), Record("infiniband")
    probe = Probe(FabricHost(fabric, host, fabric.sysfs(host, root)))
    for check in (module.test_links, module.test_partitions, module.test_subnet_manager, module.test_sharp, module.test_cabling):
        check(spec, record, probe)
    return {f.check: f for f in record.findings}


def wrong(found: dict[str, Finding]) -> dict[str, str]:
    return {check: f.outcome.value for check, f in found.items() if f.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE)}


@pytest.mark.parametrize("host", [1, 2, 5])
def test_a_healthy_host_has_no_failed_check(fabric: Fabric, host: int, tmp_path: Path) -> None:
    found = judged(fabric, host, tmp_path)
    assert wrong(found) == {}
    assert found["infiniband.cabling[ibsim0]"].outcome is Outcome.PASS
    assert found["infiniband.ports[ibsim0].subnet_manager"].found.startswith("SMINFO_MASTER at lid ")


def test_a_degraded_cable_is_detected(fabric: Fabric, tmp_path: Path) -> None:
    found = judged(fabric, DEGRADED, tmp_path)
    assert wrong(found) == {"infiniband.ports[ibsim0].rate_gbps": "fail"}
    links = by_near_end(parse_ibnetdiscover(fabric.run(1, ["ibnetdiscover"]).stdout))
    assert {link.width for link in links.values() if link.near.name == f"node{DEGRADED:03d}"} == {"1X"}


def test_missing_sharp_is_detected(fabric: Fabric, tmp_path: Path) -> None:
    assert wrong(judged(fabric, 1, tmp_path, infiniband_sharp=True)) == {"infiniband.ports[ibsim0].sharp": "fail"}


def test_iblinkinfo_and_ibnetdiscover_show_the_same_links(fabric: Fabric) -> None:
    shown = parse_iblinkinfo(fabric.run(1, ["iblinkinfo", "-l"]).stdout)
    discovered = parse_ibnetdiscover(fabric.run(1, ["ibnetdiscover"]).stdout)
    assert len(shown) == len(discovered) == 2 * (LEAVES * HOSTS_PER_LEAF + LEAVES)
    assert {(a.near.name, a.near.port, a.far.name, a.far.port) for a in shown} == {
        (b.near.name, b.near.port, b.far.name, b.far.port) for b in discovered
    }


def test_a_moved_cable_is_reported_with_expected_and_found_switch_port(fabric: Fabric, tmp_path: Path) -> None:
    # Host 7 belongs to leaf02 port 3. Its cable is plugged into port 4 instead, which disconnects host 8.
    fabric.move_cable(7, 2, 4)
    finding = judged(fabric, 7, tmp_path / "a")["infiniband.cabling[ibsim0]"]
    assert finding.outcome is Outcome.FAIL
    assert (finding.expected, finding.found) == ("leaf02 port 3", "leaf02 port 4")
    assert "move the cable of ibsim0 to leaf02 port 3" in finding.hint
    lost = judged(fabric, 8, tmp_path / "b")
    assert wrong(lost)["infiniband.cabling[ibsim0]"] == "fail"
    assert lost["infiniband.cabling[ibsim0]"].found == "no link"


def test_counters_are_recorded_and_cleared_before_a_burn_in(fabric: Fabric, tmp_path: Path) -> None:
    fabric.console_command('PerformanceSet "node002"[1] PortCounters.SymbolErrorCounter=1234')
    assert re.search(r"SymbolErrorCounter:\.*1234", fabric.run(2, ["perfquery"]).stdout)
    root = fabric.sysfs(2, tmp_path)
    counters = root / "sys/class/infiniband/ibsim0/ports/1/counters"
    counters.mkdir()
    (counters / "symbol_error").write_text("7\n")
    for path, text in {
        "proc/sys/kernel/random/boot_id": "b",
        "etc/clusterctl/infiniband.json": '{"ports": [{"device": "ibsim0", "port": 1}]}',
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    done = fabric.run(2, [sys.executable, str(SCRIPT), "counters", "clear", "--root", str(root)])
    assert (done.rc, done.stderr) == (0, "")
    assert re.search(r"SymbolErrorCounter:\.*0\n", fabric.run(2, ["perfquery"]).stdout)
    snapshot = json.loads((root / "run/clusterctl/infiniband-counters.json").read_text())
    assert snapshot["cleared"] is True
    assert snapshot["ports"] == {"ibsim0/1": {"symbol_error": 7}}


def test_a_usage_error_is_reported() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "apply", "clear"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "counters clear, counters snapshot, or counters keep" in done.stderr
