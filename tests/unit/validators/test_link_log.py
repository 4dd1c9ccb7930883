"""Links in the kernel log: losses of network links, and PCIe links that trained low."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_validators import link_log
from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import GOOD, Finding, Outcome
from clusterctl_validators.link_flaps import flapping_device
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode
from support.gpu_node import BOOTED, JOURNAL, declared, lay_hcas
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = "0000:64:00.0"
RAIL = "mlx5_core 0000:64:00.0 ens13np0"
HCAS = [{"name": f"mlx5_{i}", "link_layer": "Ethernet", "rate_gbps": 400} for i in range(8)]
LIMITED = (
    "0000:64:00.0: 126.028 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link at 0000:00:01.0"
    " (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
)
FULL = "0000:64:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)"


def line(text: str, hour: int = 9, minute: int = 0, second: int = 0) -> str:
    return f"2026-11-20T{hour:02}:{minute:02}:{second:02}+00:00 kernel: {text}\n"


def check(root: Path, journal: str, **variables: Any) -> dict[str, Finding]:
    record = Record("hardware")
    spec = SpecView("hardware", declared("hardware", **{"hardware_hcas": HCAS, **variables}))
    probe = Probe(InventedNode(root, {JOURNAL: journal, "date +%s": "1795510800"}))
    module.test_link_log(spec=spec, record=record, probe=probe)
    return {f.check: f for f in record.findings}


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {name: f.found for name, f in findings.items() if f.outcome not in GOOD}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_hcas(tmp_path)
    for index in range(8):
        bus = f"0000:{0x61 + index:02x}"
        (tmp_path / f"sys/devices/pci{bus}/0000:00:01.0/{bus}:00.0/uevent").write_text(f"PCI_SLOT_NAME={bus}:00.0\n")
    return tmp_path


def flaps(number: int, hour: int = 9) -> str:
    pairs = (line(f"{RAIL}: Link down", hour, 2 * i) + line(f"{RAIL}: Link up", hour, 2 * i + 1) for i in range(number))
    return line(f"{RAIL}: Link up", 8) + "".join(pairs)


def test_three_losses_within_twelve_hours_with_their_times(root: Path) -> None:
    findings = check(root, BOOTED + flaps(3))
    assert set(bad(findings)) == {"hardware.hca[mlx5_3].link_flaps"}
    found = findings["hardware.hca[mlx5_3].link_flaps"]
    assert found.found.startswith("3: ens13np0 2026-11-20T09:00:00+00:00, ens13np0 2026-11-20T09:02:00+00:00")
    assert bad(check(root, BOOTED + flaps(2))) == {}
    assert set(bad(check(root, BOOTED + flaps(1), hardware_link_flaps_max=0))) == {"hardware.hca[mlx5_3].link_flaps"}
    assert bad(check(root, BOOTED + flaps(3), hardware_link_flaps_max=3)) == {}


def test_planes_are_told_apart_by_their_interfaces(root: Path) -> None:
    """One device, a port for each plane; the driver logs a plane's link under the function of its interface, which may be another one of the adapter."""
    for port, interface in ((3, "eth_r3_p0"), (6, "ens13np0")):
        table = root / f"sys/class/infiniband/mlx5_3/ports/{port}/gid_attrs/ndevs/0"
        table.parent.mkdir(parents=True)
        table.write_text(interface + "\n")
    hcas = [{**HCAS[3], "port": port} for port in (3, 6)]
    for function in ("0000:64:00.0", "0000:64:00.1"):
        found = bad(check(root, BOOTED + flaps(3).replace("0000:64:00.0", function), hardware_hcas=hcas))
        assert set(found) == {"hardware.hca[mlx5_3/6].link_flaps"}
    assert flapping_device("hardware.hca[mlx5_3/6].link_flaps") == "mlx5_3/6"


def test_maintenance_of_switches_on_several_days_is_no_flap(root: Path) -> None:
    journal = "".join(flaps(1).replace("2026-11-20", f"2026-11-{day}") for day in (21, 22, 23, 24))
    assert bad(check(root, BOOTED + journal)) == {}


@pytest.mark.parametrize(
    "journal",
    [
        line(f"{RAIL}: Link down") + line(f"{RAIL}: Link up", 9, 1),  # a boot: it was never up
        # The driver starts anew, as after mlxfwreset or a restart of openibd.
        line(f"{RAIL}: Link up") + line(f"mlx5_core {ADDRESS}: firmware version: 28.43.2566", 10) + line(f"{RAIL}: Link down", 10, 1),
        # Software opens the interface; its link trains.
        line(f"{RAIL}: Link up") + line("8021q: adding VLAN 0 to HW filter on device ens13np0", 10) + line(f"{RAIL}: Link down", 10, 0, 1),
        line("mlx5_core 0000:01:00.0 eth0: Link up") + line("mlx5_core 0000:01:00.0 eth0: Link down"),  # not a declared HCA
    ],
)
def test_what_is_no_loss(journal: str, root: Path) -> None:
    assert bad(check(root, BOOTED + journal, hardware_link_flaps_max=0)) == {}


def test_a_log_that_begins_later_proves_no_absence_but_proves_a_flap(root: Path) -> None:
    later = line("audit: type=1400", 8)
    unknown = check(root, later + flaps(1))
    assert {f.outcome for n, f in unknown.items() if n.endswith("link_flaps")} == {Outcome.COULD_NOT_RUN}
    assert unknown["hardware.pcie_bandwidth.hcas"].outcome is Outcome.NOT_APPLICABLE
    assert check(root, later + flaps(3))["hardware.hca[mlx5_3].link_flaps"].outcome is Outcome.FAIL


def test_infiniband_ports_have_no_such_lines(root: Path) -> None:
    hcas = [{**h, "link_layer": "InfiniBand"} for h in HCAS]
    findings = check(root, BOOTED, hardware_hcas=hcas)
    assert findings["hardware.hca[mlx5_3].link_flaps"].outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("end", ["", ", in Flit mode"])
def test_a_pcie_link_that_trained_low(end: str, root: Path) -> None:
    findings = check(root, BOOTED + line(f"mlx5_core {LIMITED}{end}"))
    assert set(bad(findings)) == {"hardware.pcie_bandwidth.hcas"}
    found = findings["hardware.pcie_bandwidth.hcas"].found
    assert found == "mlx5_3: 126.028 Gb/s, generation 4 x8 at 0000:00:01.0 (2026-11-20T09:00:00+00:00)"
    # The newest line counts: the slot was repaired by a new training.
    assert bad(check(root, BOOTED + line(f"pci {LIMITED}{end}") + line(f"mlx5_core {FULL}{end}", 10))) == {}
    declared_so = {"hardware_hca_pcie_gen": 4, "hardware_hca_pcie_width": 8}
    assert bad(check(root, BOOTED + line(f"mlx5_core {LIMITED}"), **declared_so)) == {}


def test_a_slot_that_can_do_no_more_by_design_is_no_fault(root: Path) -> None:
    port = root / "sys/devices/pci0000:64/0000:00:01.0"
    (port / "max_link_speed").write_text("16.0 GT/s PCIe\n")
    (port / "max_link_width").write_text("8\n")
    undeclared = {"hardware_hca_pcie_gen": 0, "hardware_hca_pcie_width": 0}
    assert bad(check(root, BOOTED + line(f"mlx5_core {LIMITED}"), **undeclared)) == {}
    (port / "max_link_width").write_text("16\n")
    assert set(bad(check(root, BOOTED + line(f"mlx5_core {LIMITED}"), **undeclared))) == {"hardware.pcie_bandwidth.hcas"}


# ConnectX-8 of HGX B300 (oci-hpc healthchecks, B300MP.xml: 64 GT/s x16 to the switch inside the adapter, 32 GT/s to the processor); the line in the words of
# a recorded one of such a port (linux-pci, "63.014 Gb/s ... limited by 32.0 GT/s PCIe x2 link at 0000:02:01.0 (capable of 1024.000 Gb/s with 64.0 GT/s ...").
BEHIND_GENERATION_5 = (
    "0000:64:00.0: 504.112 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x16 link at 0000:00:01.0"
    " (capable of 1024.000 Gb/s with 64.0 GT/s PCIe x16 link)"
)


def test_what_is_declared_is_about_the_link_of_the_adapter_and_not_about_the_way_to_the_processor(root: Path) -> None:
    adapter = root / "sys/devices/pci0000:64/0000:00:01.0/0000:64:00.0"
    (adapter / "max_link_speed").write_text("64.0 GT/s PCIe\n")
    generation_6 = {"hardware_hca_pcie_gen": 6, "hardware_hca_pcie_width": 16}
    assert bad(check(root, BOOTED + line(f"mlx5_core {BEHIND_GENERATION_5}, in Flit mode"), **generation_6)) == {}
    for lower in (("504.112", "63.014", "x16 link at", "x2 link at"), ("504.112", "252.048", "limited by 32.0", "limited by 16.0")):
        slow = BEHIND_GENERATION_5.replace(lower[0], lower[1]).replace(lower[2], lower[3])
        assert set(bad(check(root, BOOTED + line(f"mlx5_core {slow}"), **generation_6))) == {"hardware.pcie_bandwidth.hcas"}


def gpu(root: Path) -> None:
    folder = root / "sys/bus/pci/devices/0000:1b:00.0"
    folder.mkdir(parents=True)
    for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("max_link_width", "16"), ("max_link_speed", "32.0 GT/s PCIe")):
        (folder / name).write_text(text + "\n")


@pytest.mark.parametrize(
    ("found", "fails"),
    [
        (
            "31.504 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x16 link at 0000:00:01.0 (capable of 504.112 Gb/s)",
            False,
        ),  # at rest
        (
            "32.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s x8 link at 0000:00:02.0 (capable of 126.016 Gb/s with 8 GT/s x16 link)",
            True,
        ),
        ("0.000 Gb/s available PCIe bandwidth, limited by Unknown x0 link at 0000:00:01.0 (capable of 504.112 Gb/s)", False),
        ("252.056 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at 0000:00:01.0 (capable of 504.112 Gb/s)", True),
    ],
)
def test_lanes_of_a_gpu(found: str, fails: bool, root: Path) -> None:
    gpu(root)
    assert set(bad(check(root, BOOTED + line(f"pci 0000:1b:00.0: {found}")))) == ({"hardware.pcie_bandwidth.gpus"} if fails else set())


def test_recorded_lines() -> None:
    healthy = link_log.parse(recorded("dmesg/gpud-dmesg.decode.iso.log.1.txt").read_text(errors="replace"))
    assert healthy.bandwidths["0000:1a:00.0"].gbps == 504.112
    assert {b.lanes for b in healthy.bandwidths.values()} == {None}
    assert link_log.parse(recorded("dmesg/mlx5-module-plugged-link-up.txt").read_text()).losses == ()
    # Each line follows the opening of the interface by software (8021q), so no link was lost.
    assert link_log.parse(recorded("dmesg/mlx5-link-up-repeated-flap.txt").read_text()).losses == ()


@given(st.text())
def test_any_log_is_read(text: str) -> None:
    assert len(link_log.parse(text).losses) <= text.count("Link down")
