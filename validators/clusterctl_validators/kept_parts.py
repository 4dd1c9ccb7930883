"""What nodes of one scalable unit should have alike and no variable declares: kept as it is found, compared by burn-in.

Formats: drivers/edac/edac_mc_sysfs.c (dimmdev_size_show: MiB; only places with memory have a folder, which drivers that count ranks call `rank`),
drivers/nvme/host/sysfs.c and arch/x86/kernel/cpu/microcode/core.c of Linux.
"""

from collections import Counter
from typing import Dict, Set

from clusterctl_validators.pcie import nvme_devices
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

_DMI = "/sys/class/dmi/id/"
_NVME = "/sys/class/nvme/"
_MICROCODE = "/sys/devices/system/cpu/cpu0/microcode/version"
_SIZES = ("/sys/devices/system/edac/mc/mc*/dimm*/size", "/sys/devices/system/edac/mc/mc*/rank*/size")
_MIB_PER_GIB = 1024


def keep_parts(record: Record, probe: Probe) -> None:
    """Version of the BIOS (SMBIOS type 0), microcode, memory, firmware of NVMe disks by model. What the kernel does not show is left out."""
    record.seen("hardware.bios_version", _text(probe, _DMI + "bios_version"))
    microcode = _text(probe, _MICROCODE)
    if microcode:
        record.seen("hardware.microcode", microcode)
    memory = _memory(probe)
    if memory:
        record.seen("hardware.memory_modules", memory)
    for model, versions in sorted(_disk_firmware(probe).items()):
        record.seen("hardware.nvme_firmware[{}]".format(model), ", ".join(sorted(versions)))


def _memory(probe: Probe) -> str:
    """`32 x 64 GiB`, the largest first; empty where no driver of EDAC is loaded."""
    texts = [_text(probe, path) for pattern in _SIZES for path in probe.glob(pattern)]
    sizes = Counter(int(text) for text in texts if text.isdigit() and int(text))
    return ", ".join("{} x {}".format(count, _size(mib)) for mib, count in sorted(sizes.items(), reverse=True))


def _size(mib: int) -> str:
    return "{} MiB".format(mib) if mib % _MIB_PER_GIB else "{} GiB".format(mib // _MIB_PER_GIB)


def _disk_firmware(probe: Probe) -> Dict[str, Set[str]]:
    """Model -> versions; of the disks on PCIe."""
    found: Dict[str, Set[str]] = {}
    for name in nvme_devices(probe):
        model, version = _text(probe, _NVME + name + "/model"), _text(probe, _NVME + name + "/firmware_rev")
        if model and version:
            found.setdefault(model, set()).add(version)
    return found


def _text(probe: Probe, path: str) -> str:
    return " ".join((probe.read(path) or "").split())
