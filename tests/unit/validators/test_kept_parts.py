"""What is kept of a node for the comparison with others: each kernel shows its own part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import test_hardware
from clusterctl_validators.finding import Outcome
from clusterctl_validators.sources import LocalSource
from support.checks import run_some_checks, write_files
from support.gpu_node import declared

if TYPE_CHECKING:
    from pathlib import Path

_EDAC = "/sys/devices/system/edac/mc/"
_NVME = "/sys/class/nvme/"
_LINK = "/device/current_link_width"


def kept(root: Path, files: dict[str, str]) -> dict[str, str]:
    source = LocalSource(str(write_files(root, {"/sys/class/dmi/id/bios_version": "3.2\n", **files})))
    found = run_some_checks(test_hardware, declared("hardware"), source, ("test_machine",)).values()
    names = ("hardware.bios_version", "hardware.microcode", "hardware.memory_modules", "hardware.nvme_firmware[")
    own = [f for f in found if f.check.startswith(names)]
    assert all(f.outcome is Outcome.NOT_APPLICABLE for f in own)
    return {f.check.removeprefix("hardware."): f.found for f in own}


def disk(name: str, model: str, version: str) -> dict[str, str]:
    return {f"{_NVME}{name}/model": f"{model:<40}\n", f"{_NVME}{name}/firmware_rev": f"{version:<8}\n", f"{_NVME}{name}{_LINK}": "4\n"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, {}),
        ({f"{_EDAC}mc{c}/dimm{d}/size": "65536\n" for c in range(8) for d in range(4)}, {"memory_modules": "32 x 64 GiB"}),
        (
            {f"{_EDAC}mc{c}/dimm{d}/size": "65536\n" for c in range(8) for d in range(4) if (c, d) != (3, 1)},
            {"memory_modules": "31 x 64 GiB"},
        ),
        ({f"{_EDAC}mc0/rank{r}/size": "16384\n" for r in range(4)}, {"memory_modules": "4 x 16 GiB"}),
        (
            {f"{_EDAC}mc0/dimm0/size": "32768\n", f"{_EDAC}mc0/dimm1/size": "65536\n", f"{_EDAC}mc0/dimm2/size": "1000\n"},
            {"memory_modules": "1 x 64 GiB, 1 x 32 GiB, 1 x 1000 MiB"},
        ),
        ({f"{_EDAC}mc0/dimm0/size": "0\n", f"{_EDAC}mc0/dimm1/size": "\n"}, {}),
        ({"/sys/devices/system/cpu/cpu0/microcode/version": "0x2b000603\n"}, {"microcode": "0x2b000603"}),
        (
            {
                **disk("nvme0", "SAMSUNG MZQL23T8HCLS-00A07", "GDC5902Q"),
                **disk("nvme1", "SAMSUNG MZQL23T8HCLS-00A07", "GDC5602Q"),
                **disk("nvme2", "Dell Ent NVMe CM7 U.2 RI 960GB", "2.3.0"),
                f"{_NVME}nvme3/model": "Linux\n",
                f"{_NVME}nvme3/firmware_rev": "6.8.0-60\n",
            },
            {
                "nvme_firmware[Dell Ent NVMe CM7 U.2 RI 960GB]": "2.3.0",
                "nvme_firmware[SAMSUNG MZQL23T8HCLS-00A07]": "GDC5602Q, GDC5902Q",
            },
        ),
    ],
    ids=["nothing", "all", "one_missing", "ranks", "mixed", "no_size", "microcode", "disks"],
)
def test_what_the_kernel_shows_is_kept(files: dict[str, str], expected: dict[str, str], tmp_path: Path) -> None:
    assert kept(tmp_path, files) == {"bios_version": "3.2", **expected}
