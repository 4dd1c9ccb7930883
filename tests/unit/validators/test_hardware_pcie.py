"""PCIe links, IOMMU, PCIe errors and machine checks of role hardware."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import boot_log, machine_errors
from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode, write_files
from support.gpu_node import BOOTED, JOURNAL, declared, lay_hcas, lay_pcie
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

TIME = "2026-11-20T08:15:00+00:00"
AER = "kernel: mlx5_core 0000:61:00.0: {}PCIe Bus Error: severity={}, type=Data Link Layer, (Receiver ID)\n"


def check(root: Path, *tests: str, journal: str = "", now: str = "", **variables: Any) -> dict[str, Finding]:
    """Run some checks of the module, by default those of links, IOMMU and errors."""
    record = Record("hardware")
    commands = {JOURNAL: BOOTED + journal, "date +%s": now}
    spec, probe = SpecView("hardware", declared("hardware", **variables)), Probe(InventedNode(root, commands))
    for name in tests or ("test_pcie_links", "test_iommu", "test_machine_errors"):
        getattr(module, name)(spec=spec, record=record, probe=probe)
    return {f.check: f for f in record.findings}


def bad(findings: dict[str, Finding]) -> dict[str, tuple[str, str]]:
    return {name: (f.expected, f.found) for name, f in findings.items() if f.outcome not in GOOD}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_hcas(tmp_path)
    for number in range(8):
        lay_pcie(tmp_path, f"sys/class/nvme/nvme{number}", f"0000:{0x81 + number:02x}", max_link_width="4", current_link_width="4")
    return tmp_path


def function(root: Path, name: str) -> Path:
    return (root / "sys/class" / name / "device").resolve()


def test_links_of_hcas_and_disks(root: Path) -> None:
    findings = check(root)
    assert bad(findings) == {}
    assert findings["hardware.hca[mlx5_3].pcie_gen"].expected == ">= 5"
    # A slot with 16 lanes and a disk with four: the disk's own limit counts.
    assert (findings["hardware.nvme[nvme7].pcie_width"].expected, findings["hardware.nvme[nvme7].pcie_width"].found) == (">= 4", "4")


def test_an_hca_below_what_is_declared(root: Path) -> None:
    write_files(function(root, "infiniband/mlx5_3"), {"current_link_width": "8\n", "current_link_speed": "16.0 GT/s PCIe\n"})
    assert bad(check(root)) == {"hardware.hca[mlx5_3].pcie_width": (">= 16", "8"), "hardware.hca[mlx5_3].pcie_gen": (">= 5", "4")}


def test_a_disk_below_what_its_slot_can_do_fails_undeclared(root: Path) -> None:
    write_files(function(root, "nvme/nvme2"), {"current_link_width": "2\n"})
    # Generation 5 in a slot of generation 4 is the most that both can do.
    write_files(function(root, "nvme/nvme3"), {"current_link_speed": "16.0 GT/s PCIe\n", "../max_link_speed": "16.0 GT/s PCIe\n"})
    assert bad(check(root, "test_pcie_links")) == {"hardware.nvme[nvme2].pcie_width": (">= 4", "2")}
    assert bad(check(root, "test_pcie_links", hardware_nvme_pcie_gen=5))["hardware.nvme[nvme3].pcie_gen"] == (">= 5", "4")


@pytest.mark.parametrize(
    ("file", "text", "aspect"),
    [("current_link_speed", "Unknown", "gen"), ("current_link_width", "63", "width"), ("current_link_width", "0", "width")],
)
def test_an_unknown_link_could_not_run(root: Path, file: str, text: str, aspect: str) -> None:
    write_files(function(root, "infiniband/mlx5_0"), {file: text + "\n"})
    finding = check(root)[f"hardware.hca[mlx5_0].pcie_{aspect}"]
    assert finding.outcome is Outcome.COULD_NOT_RUN


def switch(root: Path, gpu: str = "0000:1b:00.0", **uplink: str) -> Path:
    """A GPU below a switch: its function, the switch's downstream and upstream port, the root port. `uplink`: files of the upstream port."""
    folder = root / "sys/devices/pci0000:15"
    link = {"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "current_link_speed": "2.5 GT/s PCIe", "current_link_width": "16"}
    for address in ("0000:15:01.0", "0000:18:00.0", "0000:19:00.0", gpu):
        folder = folder / address
        own = {"class": "0x030200", "vendor": "0x10de"} if address == gpu else {"class": "0x060400", "vendor": "0x1000"}
        changed = uplink if address == "0000:18:00.0" else {}
        write_files(folder, {n: f"{t}\n" for n, t in {**link, **own, "uevent": f"PCI_SLOT_NAME={address}", **changed}.items()})
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True, exist_ok=True)
    (devices / gpu).symlink_to(folder)
    return folder


def test_every_link_above_a_gpu_has_all_its_lanes_at_rest(root: Path) -> None:
    switch(root)
    findings = check(root, "test_pcie_path")
    # Speeds at rest are not evidence: all of them have dropped.
    assert bad(findings) == {}
    assert set(findings) == {"hardware.pcie_link[0000:1b:00.0].width", "hardware.pcie_link[0000:18:00.0].width"}


def test_the_uplink_of_a_switch_with_fewer_lanes_fails_once(root: Path) -> None:
    hca = switch(root, current_link_width="8").parents[1] / "0000:1a:00.0/0000:1c:00.0"
    write_files(hca.parent, {"class": "0x060400\n", "uevent": "PCI_SLOT_NAME=0000:1a:00.0\n"})
    write_files(hca, {"class": "0x020700\n", "uevent": "PCI_SLOT_NAME=0000:1c:00.0\n"})
    (root / "sys/class/infiniband/mlx5_0/device").unlink()
    (root / "sys/class/infiniband/mlx5_0/device").symlink_to(hca)
    findings = check(root, "test_pcie_path")
    assert bad(findings) == {"hardware.pcie_link[0000:18:00.0].width": (">= 16", "8")}
    assert "between 0000:18:00.0 and the port above it, 0000:15:01.0" in findings["hardware.pcie_link[0000:18:00.0].width"].hint
    # The adapter is declared, the GPU is not.
    assert set(bad(check(root, "test_pcie_path", hardware_gpus=0))) == {"hardware.pcie_link[0000:18:00.0].width"}
    assert bad(check(root, "test_pcie_path", hardware_gpus=0, hardware_hcas=[])) == {}


def test_an_unknown_width_of_an_uplink_could_not_run(root: Path) -> None:
    switch(root, current_link_width="63")
    assert check(root, "test_pcie_path")["hardware.pcie_link[0000:18:00.0].width"].outcome is Outcome.COULD_NOT_RUN


def test_a_machine_that_shows_no_ports_has_no_links_to_judge(tmp_path: Path) -> None:
    folder = tmp_path / "sys/bus/pci/devices/0000:00:05.0"
    write_files(folder, {"vendor": "0x10de\n", "class": "0x030200\n", "current_link_width": "8\n", "max_link_width": "16\n"})
    assert {name: f.outcome for name, f in check(tmp_path, "test_pcie_path").items()} == {"hardware.pcie_links": Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize(("kind", "good"), [("identity", True), ("DMA-FQ", False), ("DMA", False), ("blocked", False)])
def test_the_iommu_of_an_hgx_node(root: Path, kind: str, good: bool) -> None:
    write_files(function(root, "infiniband/mlx5_1"), {"iommu_group/type": kind + "\n"})
    finding = check(root)["hardware.iommu[mlx5_1]"]
    assert (finding.outcome in GOOD) is good
    assert finding.expected == "disabled or passthrough"


def test_an_iommu_that_is_off_or_does_not_show_its_type(root: Path) -> None:
    (function(root, "infiniband/mlx5_1") / "iommu_group/type").unlink()
    assert check(root)["hardware.iommu[mlx5_1]"].outcome is Outcome.COULD_NOT_RUN
    assert "found nothing" in check(root, hardware_iommu=[])["hardware.iommu[mlx5_1]"].reason
    shutil.rmtree(root / "sys/class/iommu")
    assert bad(check(root)) == {}
    assert check(root, hardware_iommu=["translated"])["hardware.iommu[mlx5_1]"].found == "disabled"


@pytest.mark.parametrize("prefix", ["", "AER: "])
@pytest.mark.parametrize(
    ("severity", "failing", "weight"),
    [
        ("Uncorrected (Fatal)", "hardware.aer.fatal", Severity.CRITICAL),
        ("Uncorrectable (Fatal)", "hardware.aer.fatal", Severity.CRITICAL),
        ("Uncorrected (Non-Fatal)", "hardware.aer.nonfatal", Severity.MAJOR),
    ],
)
def test_an_uncorrected_pcie_error_with_its_time(root: Path, prefix: str, severity: str, failing: str, weight: Severity) -> None:
    findings = check(root, journal=f"{TIME} {AER.format(prefix, severity)}")
    assert bad(findings) == {failing: ("none since boot", f"{severity}, Data Link Layer at 0000:61:00.0 ({TIME})")}
    assert findings[failing].severity is weight


def test_counters_count_where_the_log_is_silent(root: Path) -> None:
    write_files(function(root, "infiniband/mlx5_0"), {"aer_dev_fatal": "DLP 2\nTOTAL_ERR_FATAL 2\n"})
    assert bad(check(root))["hardware.aer.fatal"][1] == "0000:61:00.0 counted 2 since boot, the log shows none"
    # They tell no time.
    assert bad(check(root, hardware_log_hours=24, now="1793203200\n")) == {}


def test_corrected_errors_fail_above_a_declared_limit(root: Path) -> None:
    journal = (
        f"{TIME} {AER.format('', 'Corrected')}" * 7
        + f"{TIME} kernel: EDAC MC1: 1 CE memory read error on CPU_SrcID#1_MC#0_Chan#0_DIMM#0 (channel:0)\n"
    )
    findings = check(root, journal=journal)
    assert bad(findings) == {}
    assert "and 2 more" in findings["hardware.aer.corrected"].reason
    found = bad(check(root, journal=journal, hardware_aer_corrected_max=6, hardware_mce_corrected_max=1))
    assert set(found) == {"hardware.aer.corrected"}
    assert found["hardware.aer.corrected"][1].startswith("7: Corrected, Data Link Layer at 0000:61:00.0")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: bd80000000100134", "Bank 7: bd80000000100134 at CPU 12"),
        ("mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 9: ac00004000800090", "Bank 9"),
        ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1)", "DIMM#0"),
        ("[Hardware Error]: Deferred error, no action required.", "Deferred error"),
        ("{1}[Hardware Error]: event severity: recoverable", "recoverable"),
    ],
)
def test_an_uncorrected_machine_check(root: Path, line: str, shown: str) -> None:
    findings = check(root, journal=f"{TIME} kernel: {line}\n")
    assert set(bad(findings)) == {"hardware.mce.uncorrected"}
    assert shown in findings["hardware.mce.uncorrected"].found
    assert TIME in findings["hardware.mce.uncorrected"].found


@pytest.mark.parametrize(
    "line",
    [
        "mce: CPU supports 29 MCE banks",
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0",
        "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 9: 8c00004000800090",
        "{3}[Hardware Error]:  event severity: corrected",
        "BERT: [Hardware Error]: Skipped 1 error records",
        "[Hardware Error]: event severity: fatal",  # the boot error record tells of the boot before
    ],
)
def test_lines_that_are_no_uncorrected_error(root: Path, line: str) -> None:
    assert bad(check(root, journal=f"{TIME} kernel: {line}\n")) == {}


def test_only_the_declared_hours_count(root: Path) -> None:
    journal = f"{TIME} {AER.format('', 'Uncorrected (Fatal)')}{TIME} kernel: NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.\n"
    tests = ("test_machine_errors", "test_kernel_log")
    at = int(boot_log.seconds_of(TIME) or 0)
    recent = check(root, *tests, journal=journal, hardware_log_hours=2, now=f"{at + 3600}\n")
    assert set(bad(recent)) == {"hardware.aer.fatal", "hardware.xids", "hardware.xid[79]"}
    assert recent["hardware.xid[79]"].expected == "none in the last 2 h"
    assert bad(check(root, *tests, journal=journal, hardware_log_hours=2, now=f"{at + 7201}\n")) == {}
    # A line without a time is never too old.
    assert bad(check(root, *tests, journal=journal.replace(TIME, ""), hardware_log_hours=2, now=f"{at + 7201}\n"))


def test_a_clock_that_cannot_be_read_is_not_a_pass(root: Path) -> None:
    findings = check(root, "test_machine_errors", "test_kernel_log", hardware_log_hours=2, now="")
    assert {f.outcome for f in findings.values()} == {Outcome.COULD_NOT_RUN}


def test_the_options_have_the_values_that_the_checks_know() -> None:
    options = load_role(ROOT / "roles" / "hardware").options
    assert options["hardware_iommu"]["choices"] == ["disabled", "passthrough", "translated"]


@pytest.mark.parametrize("time", ["2026-11-20T08:15:00Z", "2026-11-20T08:15:00,470068+00:00", "2026-11-20T09:15:00+0100"])
def test_times_of_all_formats(time: str) -> None:
    assert boot_log.seconds_of(time) == boot_log.seconds_of(TIME)
    assert boot_log.seconds_of("") is None


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["nvme 0000:61:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"], {}),
        (["nvme 0000:61:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)"], {}),
        (
            ["nvme 0000:61:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, (Receiver ID)"],
            {"hardware.aer.fatal"},
        ),
        (
            ["nvme 0000:61:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Inaccessible, (Unregistered Agent ID)"],
            {"hardware.aer.nonfatal"},
        ),
        (["pcieport 0000:00:01.0: AER: Correctable error message received from 0000:61:00.0"], {}),
        # Nothing follows where the device cannot be read any more.
        (
            ["pcieport 0000:00:01.0: AER: Multiple Uncorrectable (Non-Fatal) error message received from 0000:61:00.0"],
            {"hardware.aer.nonfatal"},
        ),
        (["pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:61:00.0"], {"hardware.aer.fatal"}),
        (
            ["pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:61:00.0 (no details found)"],
            {"hardware.aer.fatal"},
        ),
        # Linux before 6.16 and since.
        (
            [
                "pcieport 0000:60:03.0: DPC: containment event, status:0x0005 source:0x6100",
                "pcieport 0000:60:03.0: DPC: ERR_FATAL detected",
                "pcieport 0000:60:03.0: AER: broadcast error_detected message",
            ],
            {"hardware.aer.fatal"},
        ),
        (
            ["pcieport 0000:60:03.0: DPC: containment event, status:0x200d, ERR_FATAL received from 0000:61:00.0"],
            {"hardware.aer.fatal"},
        ),
        (
            ["pcieport 0000:60:03.0: DPC: containment event, status:0x0009: unmasked uncorrectable error detected"],
            {"hardware.aer.fatal"},
        ),
        (
            [
                "pcieport 0000:60:03.0: DPC: containment event, status:0x1f67 source:0x0000",
                "pcieport 0000:60:03.0: DPC: software trigger detected",
            ],
            {},
        ),
    ],
)
def test_the_wordings_of_all_kernels(lines: list[str], shown: set[str], root: Path) -> None:
    journal = "".join(f"{TIME} kernel: {line}\n" for line in lines)
    assert set(bad(check(root, journal=journal))) == set(shown)
    corrected = check(root, journal=journal * 2, hardware_aer_corrected_max=1)["hardware.aer.corrected"].outcome
    assert (corrected is Outcome.FAIL) == ("Bus Error: severity=Correct" in journal)


def test_an_error_and_its_announcement_are_one(root: Path) -> None:
    announced = f"{TIME} kernel: pcieport 0000:60:01.0: AER: Uncorrectable (Fatal) error message received from 0000:61:00.0\n"
    findings = check(root, journal=announced + f"{TIME} {AER.format('', 'Uncorrectable (Fatal)')}")
    assert findings["hardware.aer.fatal"].found.count("0000:61:00.0") == 1


def errors_of(*lines: str) -> list[tuple[str, bool]]:
    found = machine_errors.parse("".join(f"{TIME} kernel: {line}\n" for line in lines)).aer
    assert all(boot_log.time_of(e.before) == TIME for e in found)
    return [(e.device, e.fatal) for e in found]


def test_a_port_that_disabled_its_link_names_the_device_behind_it() -> None:
    old = "pcieport 0001:60:03.0: DPC: containment event, status:0x0005 source:0x3401", "pcieport 0001:60:03.0: DPC: ERR_FATAL detected"
    assert errors_of(*old) == [("0001:34:00.1", True)]
    new = "pcieport 0001:60:03.0: DPC: containment event, status:0x200b, ERR_NONFATAL received from 0001:34:1f.1"
    assert errors_of(new) == [("0001:34:1f.1", True)]


def test_what_a_port_contained_is_fatal_whatever_its_details_say() -> None:
    lines = (
        "pcieport 0004:00:00.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0004:00:00.0: DPC: unmasked uncorrectable error detected",
        "pcieport 0004:00:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Receiver ID)",
    )
    assert errors_of(*lines) == [("0004:00:00.0", True)]


def test_the_details_of_another_device_do_not_hide_an_announced_error() -> None:
    lines = (
        "pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:61:00.0",
        "nvme 0000:05:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)",
    )
    assert errors_of(*lines) == [("0000:61:00.0", True), ("0000:05:00.0", False)]


def test_an_uncorrected_error_is_a_finding_of_its_adapter(root: Path) -> None:
    write_files(function(root, "infiniband/mlx5_0"), {"uevent": "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:61:00.0\n"})
    found = check(root, journal=f"{TIME} {AER.format('', 'Uncorrected (Non-Fatal)')}{TIME} {AER.format('', 'Corrected')}")
    assert set(bad(found)) == {"hardware.aer.nonfatal", "hardware.hca[mlx5_0].aer"}
    own = found["hardware.hca[mlx5_0].aer"]
    assert (own.found, own.severity) == (f"Uncorrected (Non-Fatal), Data Link Layer at 0000:61:00.0 ({TIME})", Severity.MAJOR)
    assert own.hint == found["hardware.aer.nonfatal"].hint


def test_an_error_of_a_disk_behind_vmd_is_not_one_of_the_adapter_with_the_rest_of_its_address(root: Path) -> None:
    """Intel's VMD numbers its domains from 10000 on (drivers/pci/controller/vmd.c)."""
    write_files(function(root, "infiniband/mlx5_0"), {"uevent": "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:61:00.0\n"})
    found = check(root, journal=f"{TIME} {AER.format('', 'Uncorrected (Non-Fatal)')}".replace("0000:61", "10000:61"))
    assert set(bad(found)) == {"hardware.aer.nonfatal"}


def test_a_log_that_does_not_reach_back_to_the_boot_proves_nothing(root: Path) -> None:
    record = Record("hardware")
    later = f"{TIME} kernel: audit: type=1400\n"
    spec = SpecView("hardware", declared("hardware", hardware_mce_corrected_max=5))
    probe = Probe(InventedNode(root, {JOURNAL: later, "dmesg --time-format iso": later}))
    for name in ("test_kernel_log", "test_machine_errors"):
        getattr(module, name)(spec=spec, record=record, probe=probe)
    found = {f.check: f for f in record.findings if f.outcome is not Outcome.NOT_APPLICABLE}
    assert {f.outcome for f in found.values()} == {Outcome.COULD_NOT_RUN}
    assert {"hardware.xids", "hardware.sxids", "hardware.aer.fatal", "hardware.mce.uncorrected", "hardware.mce.corrected"} <= set(found)
    assert "hardware_log_hours" in found["hardware.xids"].reason
    hours = check_hours(root, later)
    assert {f.outcome for f in hours if f.check in ("hardware.xids", "hardware.mce.uncorrected")} == {Outcome.PASS}


def check_hours(root: Path, journal: str) -> list[Finding]:
    """The same log where it holds the hours that count."""
    record = Record("hardware")
    now = int(boot_log.seconds_of(TIME) or 0) + 7200
    probe = Probe(InventedNode(root, {JOURNAL: journal, "dmesg --time-format iso": journal, "date +%s": f"{now}\n"}))
    spec = SpecView("hardware", declared("hardware", hardware_log_hours=2))
    for name in ("test_kernel_log", "test_machine_errors"):
        getattr(module, name)(spec=spec, record=record, probe=probe)
    return list(record.findings)
