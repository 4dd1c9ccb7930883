"""The drivers that a machine needs to come back: of the disks it boots from and of its network, and what an installed kernel has of them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, List, Set, Tuple

ROOT = Path("/")
_BOOT_MOUNTS = ("/", "/boot", "/boot/efi")
# proc(5): device number, root, mount point, options, optional fields, a separator, type, source
_MOUNT = re.compile(r"\d+ \d+ (\S+) \S+ (\S+) .*?- \S+ (\S+)")
_DISTRIBUTION_HINTS = {
    "Debian": "install linux-modules-extra-{release} (Ubuntu 22.04 splits it from linux-modules-{release}): add it to kernel_extra_packages",
    "RedHat": "install kernel-modules-{version}, else kernel-modules-extra-{version}: add it to kernel_extra_packages",
}


@dataclass(frozen=True)
class UsedDriver:
    """A kernel module that drives a device: `mlx5_core` for `eth0`."""

    module: str
    device: str


def used_drivers(root: Path = ROOT) -> List[UsedDriver]:
    """The drivers of the disks that hold /, /boot and /boot/efi, and of all network ports and adapters that have one."""
    found: Set[Tuple[str, str]] = set()
    for device, path in [*_disks(root), *_network(root)]:
        found.update((module, device) for module in _modules_of(root, path))
    return [UsedDriver(module, device) for module, device in sorted(found) if _is_tracked(root, module)]


def modules_of_kernel(release: str, root: Path = ROOT) -> FrozenSet[str]:
    """The modules that a kernel has, built in or to be loaded; empty if none are installed for it."""
    folder = root / "lib/modules" / release
    lines = [line.split(":")[0] for name in ("modules.builtin", "modules.dep") for line in _read(folder / name).splitlines()]
    return frozenset(_module_name(line) for line in lines if line.strip())


def missing_drivers(release: str, root: Path = ROOT) -> List[UsedDriver]:
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


def _disks(root: Path) -> Iterator[Tuple[str, Path]]:
    """The block devices below the file systems that a boot needs, down to the disks under RAID, LVM and encryption."""
    paths = [root / "sys/dev/block" / number for point, number in _mounts(root) if point in _BOOT_MOUNTS]
    seen: Set[Path] = set()
    while paths:
        path = paths.pop().resolve()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        slaves = list(path.glob("slaves/*"))
        paths += slaves
        if not slaves:
            for controller in [path, *_nvme_controllers(path)]:
                yield path.name, controller


def _nvme_controllers(path: Path) -> List[Path]:
    """The controllers of a disk with native NVMe multipath, which is below no PCI device."""
    subsystem = next((p for p in path.parents if p.parent.name == "nvme-subsystem"), None)
    return [link.resolve() for link in subsystem.glob("nvme*") if link.is_symlink()] if subsystem else []


def _mounts(root: Path) -> Iterator[Tuple[str, str]]:
    """Mount point and device number; that of the device file where the file system has one of its own (btrfs)."""
    for line in _read(root / "proc/self/mountinfo").splitlines():
        found = _MOUNT.match(line)
        if not found:
            continue
        number, point, source = found.groups()
        if number.startswith("0:") and source.startswith("/dev/"):
            name = (root / source[1:]).resolve().name
            number = _read(root / "sys/class/block" / name / "dev").strip() or number
        yield point, number


def _network(root: Path) -> Iterator[Tuple[str, Path]]:
    for kind in ("net", "infiniband"):
        for link in sorted((root / "sys/class" / kind).glob("*/device")):
            yield link.parent.name, link.resolve()
            # the RDMA part of an adapter is a device of its own, with another driver (auxiliary bus)
            for part in link.resolve().glob("*.rdma.*") if kind == "infiniband" else ():
                yield link.parent.name, part.resolve()


def _modules_of(root: Path, path: Path) -> Iterator[str]:
    """The modules of a device and of what it is attached to, up to the root of sysfs."""
    for device in (path, *path.parents):
        module = device / "driver" / "module"
        if root in device.parents and module.exists():
            yield _module_name(module.resolve().name)


def _is_tracked(root: Path, module: str) -> bool:
    """Whether a kernel lists such a module: what can only be built in (the driver of PCIe ports) is in no list of any kernel."""
    if (root / "sys/module" / module / "initstate").exists():
        return True
    running = _read(root / "proc/sys/kernel/osrelease").strip()
    return module in modules_of_kernel(running, root)


def _module_name(path: str) -> str:
    return re.sub(r"\.ko(\.\w+)?$", "", path.strip().rpartition("/")[2]).replace("-", "_")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
