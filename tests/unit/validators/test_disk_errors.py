"""Errors of disks and file systems in the kernel log: lines that real machines logged, and those that are not about a disk of the node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_hardware as module
from clusterctl_validators.disk_errors import LOG_PATTERN, parse
from clusterctl_validators.finding import Finding, Outcome
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record, distinct
from clusterctl_validators.spec_view import SpecView
from support.checks import InventedNode, write_files
from support.gpu_node import JOURNAL, declared

if TYPE_CHECKING:
    from pathlib import Path

# Lines of leptonai/gpud 4a8de33, components/disk, of kernel mailing lists, and of thomas-krenn.com/en/wiki/Analyzing_NVMe_I/O_error_messages_in_Linux.
LOST = {
    "nvme nvme4: Disabling device after reset failure: -19": "nvme4",
    "nvme nvme0: Removing after probe failure status: -19": "nvme0",
    "nvme nvme1: Device not ready; aborting reset, CSTS=0x1": "nvme1",
    "block nvme0n1: no available path - failing I/O": "nvme0n1",
    "I/O error, dev nvme1n1, sector 499204104 op 0x1:(WRITE) flags 0x0": "nvme1n1",
    "I/O error, dev nvme0c0n1, sector 218630656 op 0x1:(WRITE) flags 0x2008800 phys_seg 17 prio class 0": "nvme0c0n1",
    "blk_update_request: I/O error, dev nvme2n1, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0": "nvme2n1",
    "blk_update_request: critical medium error, dev nvme2n1, sector 8 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0": "nvme2n1",
    "blk_update_request: I/O error, dev nvme2n1, sector 8 op 0x1 flags 0x0": "nvme2n1",
    "print_req_error: I/O error, dev nvme3n1, sector 2048": "nvme3n1",
    "print_req_error: I/O error, dev nvme3n1, sector 2048 flags 80700": "nvme3n1",
    "Buffer I/O error on dev nvme0n1p1, logical block 789012, lost sync page read": "nvme0n1p1",
    "md/raid0md0: Disk failure on nvme0n1p1 detected, failing array.": "nvme0n1p1",
    "md/raid10:md2: Disk failure on nvme2n1p1, disabling device.": "nvme2n1p1",
    "EXT4-fs error (device nvme1n1p1): ext4_journal_check_start:87: comm x: Detected aborted journal": "nvme1n1p1",
    "EXT4-fs (nvme1n1p1): Remounting filesystem read-only": "nvme1n1p1",
    "XFS (nvme5n1): Log I/O Error (0x2) detected at xlog_ioend_work+0x60/0xb0 [xfs] (fs/xfs/xfs_log.c:1377).  Shutting down filesystem.": "nvme5n1",
    "XFS (nvme5n1): Corruption detected. Unmount and run xfs_repair": "nvme5n1",
    "BTRFS: error (device nvme6n1) in btrfs_commit_transaction:2465: errno=-5 IO failure (Error while writing out transaction)": "nvme6n1",
    "BTRFS info (device nvme6n1): forced readonly": "nvme6n1",
}
RECOVERED = {
    "nvme nvme4: I/O tag 22 (2016) opcode 0x2 (Admin Cmd) QID 0 timeout, reset controller": "nvme4",
    "nvme nvme0: I/O tag 641 (c281) opcode 0x1 (I/O Cmd) QID 8 timeout, aborting req_op:WRITE(1) size:4096": "nvme0",
    "nvme nvme3: I/O 0 QID 0 timeout, disable controller": "nvme3",
    "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff": "nvme0",
    "nvme nvme1: frozen state error detected, reset controller": "nvme1",
}
NOTHING = (
    "nvme nvme0: 63/0/0 default/read/poll queues",
    "nvme nvme0: pci function 0000:e1:00.0",
    "blk_update_request: operation not supported error, dev nvme0n1, sector 0 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 0",
    "blk_update_request: critical target error, dev nvme0n1, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
    "blk_update_request: I/O error, dev nvme2n1, sector 8 op 0x3 flags 0x0",
    "I/O error, dev nvme0n1, sector 0 op 0x3:(DISCARD) flags 0x800 phys_seg 1 prio class 0",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
    "EXT4-fs (nvme0n1p2): re-mounted. Opts: errors=remount-ro",
    "XFS (nvme0n1): Ending clean mount",
    "XFS (nvme0n1): Log I/O Error (0x6) detected at xfs_fs_goingdown+0x55/0xb0 (fs/xfs/xfs_fsops.c:452).  Shutting down filesystem.",
    "BTRFS info (device nvme6n1): using free-space-tree",
    "Memory cgroup out of memory: Killed process 1 (nvme nvme4: Disabling device after reset failure: -19)",
    "python[12]: I/O error, dev nvme0n1, sector 4",
)
GONE = "nvme nvme4: Disabling device after reset failure: -19"


def line(text: str, hour: int = 9) -> str:
    return f"2026-11-20T{hour:02}:00:00+00:00 kernel: {text}\n"


def check(root: Path, journal: str, **variables: Any) -> Finding:
    record = Record("hardware")
    spec = SpecView("hardware", declared("hardware", **variables))
    booted = line("Linux version 6.8.0-60-generic (buildd@lcy02)", 1)
    probe = Probe(InventedNode(root, {JOURNAL: booted + journal, "date +%s": "1795169700"}))  # 10:15
    module.test_disk_errors(spec=spec, record=record, probe=probe)
    return next(f for f in distinct(record.findings) if f.check == "hardware.disk_errors")


@pytest.mark.parametrize("text", LOST)
@pytest.mark.parametrize(
    "form", ["2026-11-20T09:00:00+00:00 kernel: {}", "[83028.888615] {}", "kern  :err   : 2026-11-20T09:00:00,285060+00:00 {}"]
)
def test_lines_about_a_disk_that_lost_data(text: str, form: str) -> None:
    assert [(e.device, e.recovered) for e in parse(form.format(text))] == [(LOST[text], False)]


@pytest.mark.parametrize("text", RECOVERED)
def test_lines_about_a_disk_that_recovered(text: str) -> None:
    assert [(e.device, e.recovered) for e in parse(line(text))] == [(RECOVERED[text], True)]


@pytest.mark.parametrize("text", [*LOST, *RECOVERED])
def test_a_node_sends_every_line_that_the_burn_in_judges(text: str) -> None:
    assert re.search(LOG_PATTERN, f"[  400.000001] {text}")


@pytest.mark.parametrize("text", NOTHING)
def test_lines_about_neither(text: str) -> None:
    assert parse(line(text)) == ()


@pytest.mark.parametrize(
    ("journal", "outcome", "found"),
    [
        ("", Outcome.PASS, "none"),
        (line(GONE), Outcome.FAIL, "nvme4: Disabling device after reset failure: -19 (2026-11-20T09:00:00+00:00)"),
        (line(GONE) * 3, Outcome.FAIL, "nvme4: Disabling device after reset failure: -19 (2026-11-20T09:00:00+00:00); 3 in all"),
        (line(next(iter(RECOVERED))), Outcome.WARN, "timeout, reset controller"),
        (line(next(iter(RECOVERED))) + line(GONE), Outcome.FAIL, "nvme4: Disabling device"),
    ],
)
def test_a_lost_disk_fails_and_a_recovered_one_is_a_warning(tmp_path: Path, journal: str, outcome: Outcome, found: str) -> None:
    finding = check(tmp_path, journal)
    assert finding.outcome is outcome
    assert found in finding.found


def test_errors_before_the_declared_hours_do_not_count(tmp_path: Path) -> None:
    assert check(tmp_path, line(GONE, 9), hardware_log_hours=2).outcome is Outcome.FAIL
    assert check(tmp_path, line(GONE, 7), hardware_log_hours=2).outcome is Outcome.PASS


def test_a_log_that_does_not_reach_back_is_not_a_pass(tmp_path: Path) -> None:
    record = Record("hardware")
    probe = Probe(InventedNode(tmp_path, {JOURNAL: line("usb 1-1: new device")}))
    module.test_disk_errors(spec=SpecView("hardware", declared("hardware")), record=record, probe=probe)
    assert [f.outcome for f in record.findings] == [Outcome.COULD_NOT_RUN]


PLACES = [
    ("sda", {"/sys/class/block/sda/size": "1"}, Outcome.FAIL),
    ("sda1", {"/sys/class/block/sda/size": "1"}, Outcome.FAIL),
    ("a disk that is gone, as a BMC's virtual one", {}, Outcome.PASS),
    ("on USB", {"/sys/class/block/sda/size": "1", "/sys/class/block/sda/device/../../../bInterfaceClass": "08"}, Outcome.PASS),
    ("iSCSI", {"/sys/class/block/sda/size": "1", "/sys/class/block/sda/device/../../iscsi_session/session1": ""}, Outcome.PASS),
]


@pytest.mark.parametrize(("device", "files", "outcome"), PLACES, ids=[p[0] for p in PLACES])
def test_of_scsi_disks_only_local_ones_count(tmp_path: Path, device: str, files: dict[str, str], outcome: Outcome) -> None:
    (tmp_path / "sys/class/block/sda/device/x/y").mkdir(parents=True)
    if not files:
        (tmp_path / "sys/class/block/sda").rename(tmp_path / "gone")
    write_files(tmp_path, files)
    name = device if device.startswith("sd") else "sda"
    assert check(tmp_path, line(f"Buffer I/O error on dev {name}, logical block 0, async page read")).outcome is outcome


MAPPED = [("nvme2n1p3", "", Outcome.FAIL), ("nvme2n1", "tcp", Outcome.PASS), ("sdb", "", Outcome.PASS)]


@pytest.mark.parametrize(("part", "transport", "outcome"), MAPPED)
@pytest.mark.parametrize("device", ["dm-3", "md0"])
def test_a_mapping_or_an_array_is_where_its_parts_are(tmp_path: Path, device: str, part: str, transport: str, outcome: Outcome) -> None:
    (tmp_path / f"sys/class/block/{device}/slaves/{part}").mkdir(parents=True)
    if transport:
        write_files(tmp_path, {"/sys/class/nvme/nvme2/transport": transport})
    assert check(tmp_path, line(f"EXT4-fs ({device}): Remounting filesystem read-only")).outcome is outcome


def test_with_multipath_a_disk_is_where_its_own_controllers_are(tmp_path: Path) -> None:
    """A sosreport has nvme10n1 of the controller nvme6 (`nvme10c65n1 -> ../devices/pci0000:ae/.../nvme/nvme6/nvme10c65n1`)."""
    write_files(tmp_path, {"/sys/class/nvme/nvme10/transport": "tcp\n", "/sys/class/block/nvme10n1/device/nvme6/transport": "pcie\n"})
    error = "Buffer I/O error on dev {}, logical block 0, async page read"
    assert check(tmp_path, line(error.format("nvme10n1p2"))).outcome is Outcome.FAIL
    write_files(tmp_path, {"/sys/class/block/nvme6n1/device/nvme10/transport": "tcp\n", "/sys/class/nvme/nvme6/transport": "pcie\n"})
    assert check(tmp_path, line(error.format("nvme6n1"))).outcome is Outcome.PASS


@pytest.mark.parametrize("device", ["sr0", "loop3", "fd0", "dm-9", "nbd0"])
def test_other_devices_do_not_count(tmp_path: Path, device: str) -> None:
    assert (
        check(tmp_path, line(f"I/O error, dev {device}, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2")).outcome is Outcome.PASS
    )
