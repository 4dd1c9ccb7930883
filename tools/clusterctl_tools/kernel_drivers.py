"""The drivers that a machine needs to come back: of the disks it boots from and of its network, and what an installed kernel has of them."""

import glob
import os
import re
from dataclasses import dataclass
from typing import Dict, FrozenSet, Iterator, List, Set, Tuple

_BOOT_MOUNTS = ("/", "/boot", "/boot/efi")
# The longest path in sysfs has fewer folders; a loop of links ends here.
_DEEPEST = 64
_DISTRIBUTION_HINTS = {
    "Debian": "install linux-modules-extra-{release} (Ubuntu 22.04 splits it from linux-modules-{release}): add it to kernel_extra_packages",
    "RedHat": "install kernel-modules-{version}, else kernel-modules-extra-{version}: add it to kernel_extra_packages",
}


@dataclass(frozen=True)
class UsedDriver:
    """A kernel module that drives a device: `mlx5_core` for `eth0`."""

    module: str
    device: str


def used_drivers(root: str = "") -> List[UsedDriver]:
    """The drivers of the disks that hold /, /boot and /boot/efi, and of all network ports and adapters that have one."""
    found: Set[Tuple[str, str]] = set()
    for device, path in [*_disks(root), *_network(root)]:
        found.update((module, device) for module in _modules_of(path))
    return [UsedDriver(module, device) for module, device in sorted(found) if _is_tracked(root, module)]


def modules_of_kernel(release: str, root: str = "") -> FrozenSet[str]:
    """The modules that a kernel has, built in or to be loaded; empty if none are installed for it."""
    folder = "{}/lib/modules/{}".format(root, release)
    lines = [line.split(":")[0] for name in ("modules.builtin", "modules.dep") for line in _read(folder + "/" + name).splitlines()]
    return frozenset(_module_name(line) for line in lines if line.strip())


def missing_drivers(release: str, root: str = "") -> List[UsedDriver]:
    """The drivers in use that a kernel does not have."""
    there = modules_of_kernel(release, root)
    return [driver for driver in used_drivers(root) if driver.module not in there]


def missing_text(release: str, missing: List[UsedDriver]) -> str:
    """What is missing, each driver with its devices."""
    devices: Dict[str, List[str]] = {}
    for driver in missing:
        devices.setdefault(driver.module, []).append(driver.device)
    parts = ["{} ({})".format(module, ", ".join(names)) for module, names in devices.items()]
    return "kernel {} lacks drivers that this node runs with: {}".format(release, "; ".join(parts))


def package_hint(release: str, os_family: str) -> str:
    """Which package brings what the kernel lacks; empty for an unknown distribution."""
    return _DISTRIBUTION_HINTS.get(os_family, "").format(release=release, version=re.sub(r"\.[^.]+$", "", release))


def _disks(root: str) -> Iterator[Tuple[str, str]]:
    """The block devices below the file systems that a boot needs, down to the disks under RAID, LVM and encryption."""
    waiting = [number for point, number in _mounts(root) if point in _BOOT_MOUNTS]
    paths = [_real("{}/sys/dev/block/{}".format(root, number)) for number in waiting]
    seen: Set[str] = set()
    while paths:
        path = paths.pop()
        if not path or path in seen:
            continue
        seen.add(path)
        slaves = glob.glob(glob.escape(path) + "/slaves/*")
        paths += [_real(slave) for slave in slaves]
        if not slaves:
            for controller in [path, *_nvme_paths(path)]:
                yield path.rpartition("/")[2], controller


def _nvme_paths(path: str) -> List[str]:
    """The controllers of a disk with native NVMe multipath, which is below no PCI device."""
    subsystem = re.match(r".*/nvme-subsystem/[^/]+", path)
    return [_real(link) for link in glob.glob(glob.escape(subsystem.group()) + "/nvme*") if os.path.islink(link)] if subsystem else []


def _mounts(root: str) -> Iterator[Tuple[str, str]]:
    """Mount point and device number; that of the device file where the file system has one of its own (btrfs)."""
    for line in _read(root + "/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields, source = left.split(), (right.split() + ["", ""])[1]
        if len(fields) < 5:
            continue
        number = fields[2]
        if number.startswith("0:") and source.startswith("/dev/"):
            name = os.path.realpath(root + source).rpartition("/")[2]
            number = _read("{}/sys/class/block/{}/dev".format(root, name)).strip() or number
        yield fields[4], number


def _network(root: str) -> Iterator[Tuple[str, str]]:
    for link in sorted(glob.glob(root + "/sys/class/net/*")):
        if os.path.exists(link + "/device"):
            yield link.rpartition("/")[2], _real(link + "/device")
    for link in sorted(glob.glob(root + "/sys/class/infiniband/*")):
        name, adapter = link.rpartition("/")[2], _real(link + "/device")
        yield name, adapter
        # the RDMA part of an adapter is a device of its own, with another driver (auxiliary bus)
        for part in glob.glob(glob.escape(adapter) + "/*.rdma.*") if adapter else ():
            yield name, _real(part)


def _modules_of(path: str) -> Iterator[str]:
    """The modules of a device and of what it is attached to, up to the root of sysfs."""
    for _ in range(_DEEPEST):
        if not path or path.endswith("/sys"):
            return
        module = path + "/driver/module"
        if os.path.exists(module):
            yield _real(module).rpartition("/")[2].replace("-", "_")
        path = path.rpartition("/")[0]


def _is_tracked(root: str, module: str) -> bool:
    """Whether a kernel lists such a module: what can only be built in (the driver of PCIe ports) is in no list of any kernel."""
    if os.path.exists("{}/sys/module/{}/initstate".format(root, module)):
        return True
    running = _read(root + "/proc/sys/kernel/osrelease").strip() or os.uname().release
    return module in modules_of_kernel(running, root)


def _module_name(path: str) -> str:
    return re.sub(r"\.ko(\.\w+)?$", "", path.strip().rpartition("/")[2]).replace("-", "_")


def _real(path: str) -> str:
    """The path without links; empty if nothing is there."""
    return os.path.realpath(path) if os.path.exists(path) else ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
