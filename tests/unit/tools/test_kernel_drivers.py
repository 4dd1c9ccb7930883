"""The drivers that a machine needs to come back, from a tree with the links of a real sysfs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_tools.kernel_drivers import UsedDriver, missing_drivers, missing_text, modules_of_kernel, package_hint, used_drivers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUNNING, NEW = "6.8.0-60-generic", "6.8.0-1046-nvidia"
NVME = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0"
ADAPTER = "sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0"


class Machine:
    """A root folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("proc/sys/kernel/osrelease", f"{RUNNING}\n")
        self.write("proc/self/mountinfo", "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n")
        self.write(f"lib/modules/{RUNNING}/modules.builtin", "kernel/drivers/nvme/host/nvme.ko\n")
        self.device(NVME, "nvme", loadable=False)
        self.device("sys/devices/pci0000:00/0000:00:1d.0", "pcieportdrv", loadable=False)
        (root / NVME / "nvme/nvme0/nvme0n1/nvme0n1p2").mkdir(parents=True)
        self.link("sys/dev/block/259:2", f"{NVME}/nvme/nvme0/nvme0n1/nvme0n1p2")
        self.device(ADAPTER, "mlx5_core")
        self.device(f"{ADAPTER}/mlx5_core.rdma.0", "mlx5_ib")
        for name in ("net/eth0", "infiniband/mlx5_0"):
            (root / ADAPTER / name).mkdir(parents=True)
            self.link(f"{ADAPTER}/{name}/device", ADAPTER)
            self.link(f"sys/class/{name}", f"{ADAPTER}/{name}")
        (root / "sys/class/net/lo").mkdir()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def link(self, path: str, target: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).symlink_to(self.root / target)

    def device(self, path: str, module: str, *, loadable: bool = True) -> None:
        """A device with its driver; one that is built in has no `initstate`."""
        (self.root / path).mkdir(parents=True, exist_ok=True)
        driver = f"sys/bus/some/drivers/{module}"
        if not (self.root / driver).exists():
            (self.root / driver).mkdir(parents=True)
            (self.root / "sys/module" / module).mkdir(parents=True)
            self.link(f"{driver}/module", f"sys/module/{module}")
        if loadable:
            self.write(f"sys/module/{module}/initstate", "live\n")
        self.link(f"{path}/driver", driver)

    def kernel(self, release: str, *modules: str, builtin: str = "") -> None:
        self.write(f"lib/modules/{release}/modules.dep", "".join(f"kernel/{m}: kernel/other.ko\n" for m in modules))
        self.write(f"lib/modules/{release}/modules.builtin", builtin)

    @property
    def used(self) -> set[tuple[str, str]]:
        return {(d.module, d.device) for d in used_drivers(self.root)}

    @property
    def missing(self) -> set[str]:
        return {d.module for d in missing_drivers(NEW, self.root)}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_drivers_of_disks_ports_and_adapters(machine: Machine) -> None:
    """That of PCIe ports can only be built in: no kernel lists it, so it is not compared."""
    assert machine.used == {("nvme", "nvme0n1p2"), ("mlx5_core", "eth0"), ("mlx5_core", "mlx5_0"), ("mlx5_ib", "mlx5_0")}


def test_a_kernel_has_drivers_built_in_and_to_be_loaded(machine: Machine) -> None:
    machine.kernel(NEW, "drivers/mlx5-core.ko.zst", "updates/dkms/mlx5_ib.ko", builtin="kernel/drivers/nvme/host/nvme.ko\n")
    assert modules_of_kernel(NEW, machine.root) == {"mlx5_core", "mlx5_ib", "nvme"}
    assert machine.missing == set()


def test_what_a_kernel_lacks_is_named_with_its_devices(machine: Machine) -> None:
    machine.kernel(NEW, "drivers/nvme.ko")
    text = missing_text(NEW, missing_drivers(NEW, machine.root))
    assert text == f"kernel {NEW} lacks drivers that this node runs with: mlx5_core (eth0, mlx5_0); mlx5_ib (mlx5_0)"


def test_a_kernel_without_modules_lacks_all(machine: Machine) -> None:
    assert machine.missing == {"nvme", "mlx5_core", "mlx5_ib"}


def raid(machine: Machine) -> None:
    (machine.root / "sys/devices/virtual/block/md0/slaves").mkdir(parents=True)
    machine.link("sys/devices/virtual/block/md0/slaves/nvme0n1p2", f"{NVME}/nvme/nvme0/nvme0n1/nvme0n1p2")
    machine.link("sys/dev/block/9:0", "sys/devices/virtual/block/md0")
    machine.write("proc/self/mountinfo", "22 1 9:0 / / rw - ext4 /dev/md0 rw\n")


def multipath(machine: Machine) -> None:
    """Native multipath of NVMe, where the disk is below no PCI device (CONFIG_NVME_MULTIPATH)."""
    disk = "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1"
    (machine.root / disk / "nvme0n1p2").mkdir(parents=True)
    machine.link("sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0", f"{NVME}/nvme/nvme0")
    machine.link("sys/dev/block/259:3", f"{disk}/nvme0n1p2")
    machine.write("proc/self/mountinfo", "22 1 259:3 / / rw - ext4 /dev/nvme0n1p2 rw\n")


def btrfs(machine: Machine) -> None:
    """The number of a mount is then of no device."""
    machine.write("proc/self/mountinfo", "22 1 0:29 /@ / rw - btrfs /dev/nvme0n1p2 rw,subvol=/@\n")
    machine.write(f"{NVME}/nvme/nvme0/nvme0n1/nvme0n1p2/dev", "259:2\n")
    machine.link("sys/class/block/nvme0n1p2", f"{NVME}/nvme/nvme0/nvme0n1/nvme0n1p2")


@pytest.mark.parametrize("below", [raid, multipath, btrfs])
def test_the_disk_is_found_below(machine: Machine, below: Callable[[Machine], None]) -> None:
    below(machine)
    assert "nvme" in {module for module, _ in machine.used}


@pytest.mark.parametrize("mounts", ["", "22 1 0:40 / / rw - overlay overlay rw\n", "broken\n", "30 1 259:2 / /data rw - ext4 /dev/x rw\n"])
def test_a_machine_without_a_known_disk_has_its_network_compared(machine: Machine, mounts: str) -> None:
    machine.write("proc/self/mountinfo", mounts)
    assert {module for module, _ in machine.used} == {"mlx5_core", "mlx5_ib"}


def test_an_empty_machine_uses_nothing(tmp_path: Path) -> None:
    assert used_drivers(tmp_path) == []
    assert missing_text(NEW, [UsedDriver("a", "b")]).endswith(": a (b)")


def test_the_package_by_distribution() -> None:
    assert f"linux-modules-extra-{NEW}" in package_hint(NEW, "Debian")
    assert "kernel-modules-5.14.0-427.13.1.el9_4," in package_hint("5.14.0-427.13.1.el9_4.x86_64", "RedHat")
    assert package_hint(NEW, "Suse") == ""
