"""Errors of local disks and of the file systems on them, in the kernel log.

Formats: Linux, drivers/nvme/host/pci.c and multipath.c, block/blk-mq.c (blk_print_req_error), fs/buffer.c, drivers/md/raid*.c, fs/ext4/super.c,
fs/xfs/xfs_fsops.c, fs/btrfs/messages.c. Lines that real machines logged are in leptonai/gpud (4a8de33, components/disk).
"""

import re
from typing import Iterator, List, Optional, Tuple

from clusterctl_validators.boot_log import MESSAGE_START, time_of
from clusterctl_validators.logged_error import LoggedError
from clusterctl_validators.probe import Probe

# Lines about NVMe disks, chosen on a node: of other disks a line alone does not show whether they are in it.
LOG_PATTERN = (
    r"nvme\d.*(?:ailure|aborting|timeout|will reset|reset controller|failing I/O|read-?only|hut down|hutting down|orruption|errno=)"
    r"|(?:I/O|medium) error.* dev(?:ice)? nvme|EXT4-fs error \(device nvme|Disk failure on nvme"
)
_OF_LOST = (
    "drain the node and check the disk (`smartctl -x`): reseat it, replace it if the errors return. "
    "A file system that the kernel made read-only needs a check before it is mounted again"
)
_OF_RECOVERED = "a disk that does this again and again fails: reseat it, update its firmware, or plan its replacement"

_BLOCK = "/sys/class/block/{}"
# Assumed: no disk in order logs such a line; one that encrypts itself and is locked may, until it is unlocked. A discard that a device does not support is an I/O error of no data.
_LOST = tuple(
    re.compile(pattern)
    for pattern in (
        r"nvme (?P<device>nvme\d+): (?P<detail>(?:Disabling device after reset failure|Removing after probe failure|Device not ready; aborting).*)",
        r"block (?P<device>nvme\d+n\d+): (?P<detail>no available path - failing I/O)",
        r"(?:\w+: )?(?P<detail>(?:I/O|critical medium) error), dev (?P<device>[\w-]+), sector \d+(?: op 0x(?:\w+:\((?:READ|WRITE|FLUSH)\)|[012] )| flags|\s*$)",
        r"(?P<detail>Buffer I/O error) on dev(?:ice)? (?P<device>[\w-]+), logical block",
        r"md/raid\S*: (?P<detail>Disk failure) on (?P<device>[\w-]+)[, ]",
        r"EXT4-fs error \(device (?P<device>[\w-]+)\): (?P<detail>.*)",
        r"EXT4-fs \((?P<device>[\w-]+)\): (?P<detail>Remounting filesystem read-only)",
        r"XFS \((?P<device>[\w-]+)\): (?P<detail>(?!.*xfs_fs_goingdown).*(?:Shutting down filesystem|has been shut down|orruption detected).*)",
        r"BTRFS(?: \w+)?:? (?:error )?\(device (?P<device>[\w-]+)\):? (?P<detail>.*(?:errno=|forced readonly).*)",
    )
)
_RESET = re.compile(
    r"nvme (?P<device>nvme\d+): (?P<detail>I/O .*timeout, .*|controller is down; will reset.*|frozen state error detected, reset controller)"
)
_MESSAGE = re.compile(MESSAGE_START)
_NVME = re.compile(r"nvme(\d+)")
_NAMESPACE = re.compile(r"(nvme\d+(?:c\d+)?n\d+)")
# Behind the address of a SCSI disk: its target, then the host, the session of iSCSI or the port of Fibre Channel, then the interface of USB.
_REMOTE = ("device/../../iscsi_session", "device/../../fc_remote_ports", "device/../../../bInterfaceClass")
_DEPTH = 3


def parse(text: str) -> Tuple[LoggedError, ...]:
    """The errors of a log, in its order."""
    return tuple(_errors(text))


def _errors(text: str) -> Iterator[LoggedError]:
    # A log may have thousands of lines, of which few name a disk.
    named = (n for n in text.splitlines() if "nvme" in n or " error" in n or "-fs" in n or "XFS (" in n or "BTRFS" in n or "md/raid" in n)
    for line in named:
        at = _start(line)
        found = next((m for m in (p.match(line, at) for p in _LOST) if m), None)
        recovered = None if found else _RESET.match(line, at)
        match = found or recovered
        if match:
            time, action = time_of(line[: match.start("detail")]), _OF_LOST if found else _OF_RECOVERED
            yield LoggedError(match.group("device"), match.group("detail").strip(), found is None, time, action)


def _start(line: str) -> int:
    """Where the driver's own message begins."""
    found = _MESSAGE.match(line)
    return found.end() if found else 0


def is_nvme(error: LoggedError) -> bool:
    """Whether it is of an NVMe disk, by its name."""
    return bool(_NVME.match(error.device))


def _transports(probe: Probe, device: str) -> List[Optional[str]]:
    """How the controllers of an NVMe disk or of its partition are reached. With native multipath they are below its subsystem, with other numbers than it."""
    disk = _NAMESPACE.match(device)
    at = _BLOCK.format(disk.group(1)) + "/device" if disk else ""
    return [probe.read(path) for pattern in ("/transport", "/nvme*/transport") for path in probe.glob(at + pattern)] if disk else []


def is_local(probe: Probe, device: str, depth: int = _DEPTH) -> bool:
    """Whether a device is in this machine: not a disk on a network, nor on USB, where a BMC shows its virtual media. One that is gone counts if it is an NVMe disk."""
    found = _transports(probe, device)
    if found:
        return "pcie" in found
    controller = _NVME.match(device)
    if controller:
        return (probe.read("/sys/class/nvme/nvme{}/transport".format(controller.group(1))) or "pcie") == "pcie"
    if device.startswith(("dm-", "md")):
        parts = [path.rpartition("/")[2] for path in probe.glob(_BLOCK.format(device) + "/slaves/*")]
        return depth > 0 and any(is_local(probe, part, depth - 1) for part in parts)
    at = _BLOCK.format(device.rstrip("0123456789"))
    return device.startswith("sd") and bool(probe.glob(at)) and not any(probe.glob("{}/{}".format(at, place)) for place in _REMOTE)
