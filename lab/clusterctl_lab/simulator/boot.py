"""Boot of a lab node: creates its own /proc/sys, /sys and kernel log, then starts systemd.

Runs as the first process of the container. The node writes kernel settings to copies on a tmpfs, never to the host's kernel.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import uuid
from typing import TYPE_CHECKING

from . import (
    boot_source,
    crash_kernel,
    ethernet_rails,
    fresh_installer,
    gpu_modes,
    grub_env,
    kernel_modules,
    link_type,
    machine,
    nv_config,
    pci_registers,
    pcie_training,
    procfs,
    state,
    sysfs_cpu,
    sysfs_iommu,
    sysfs_memory,
    sysfs_pci,
    sysfs_rdma,
    uname,
    update_grub,
)
from .cmdline import FIRST_BOOT, GRUB_CFG
from .hugepages import pages_from_cmdline
from .mounts import bind, move_mount, new_tmpfs
from .pseudo_files import copy_values, make_links, write_files
from .state import RUN, read_faults

if TYPE_CHECKING:
    from .hugepages import HugePages

SEED = "/var/lib/clusterctl-lab"
# Files of /proc/sys that the kernel keeps per container.
_OWN_SYS = ("kernel/random/uuid", "kernel/hostname", "kernel/domainname")


def main(_argv: list[str], _version: str = "") -> int:
    """Create the kernel files, load modules, start the supervisor, then become systemd."""
    fresh_installer.after_first_boot()
    fresh_installer.on_boot()
    _boot_folder()
    node = socket.gethostname()
    started = grub_env.start_kernel()
    cmdline = started.cmdline if started else FIRST_BOOT
    boot_id = str(uuid.uuid4())
    os.makedirs(RUN, exist_ok=True)
    simulated = "The hardware of this node is simulated by clusterctl lab."
    write_files(RUN, {"simulated": simulated, "boot_id": boot_id, "hardware": machine.THIS.name})
    # As the hardware: for programs whose units hide the file of the lab.
    state.set_flag("management", state.read(machine.INSTALLED))
    uname.on_boot(started.release if started else "")
    pages = pages_from_cmdline(cmdline, machine.NUMA_NODES, machine.THIS.huge_kib_per_node, uname.release())
    machine.name_devices()
    boot_source.on_boot()
    nv_config.on_boot()
    link_type.on_boot()
    gpu_modes.on_boot()
    create_sysfs(node, cmdline, pages)
    _proc_sys(cmdline, boot_id, pages)
    create_proc_files(cmdline, pages)
    _identity()
    problems = kernel_modules.on_boot(cmdline)
    write_files(RUN, {"module-problems": "\n".join(problems)})
    _kernel_log()
    os.execv("/sbin/init", ["/sbin/init"])  # noqa: S606 no shell: this process becomes systemd


def _boot_folder() -> None:
    """Put the kernel of the installer, the host's unless it left another one, into /boot and configure the boot loader."""
    release = os.uname().release
    for name in () if os.path.exists(fresh_installer.DONE) else fresh_installer.BOOT_FILES:
        path = f"/boot/{name}-{release}"
        if not os.path.exists(path):
            write_files("/boot", {f"{name}-{release}": "simulated"})
    os.makedirs(f"/lib/modules/{release}", exist_ok=True)
    if not os.path.exists(GRUB_CFG):
        update_grub.write_grub_cfg(update_grub.grub_cfg_text(), GRUB_CFG)


def create_sysfs(node: str, cmdline: str, pages: HugePages) -> None:
    """Replace /sys by that of this machine."""
    root = new_tmpfs(f"{RUN}/sys")
    faults = read_faults()
    ethernet = link_type.is_ethernet()
    for real in ("fs", "devices/virtual/net") if ethernet else ("fs", "class/net", "devices/virtual/net"):
        os.makedirs(f"{root}/{real}")
        bind(f"/sys/{real}", f"{root}/{real}")
    missing = faults.missing_gpus()
    write_files(root, sysfs_cpu.files(cmdline))
    write_files(root, sysfs_memory.files(cmdline, pages))
    write_files(root, crash_kernel.files(cmdline, machine.THIS.memory_kib))
    write_files(root, sysfs_rdma.files(node, faults.trained_gbps(), ethernet=ethernet))
    write_files(root, pci_registers.with_bus_numbers(sysfs_pci.files(missing, acs=sysfs_iommu.is_on(cmdline))))
    write_files(root, sysfs_iommu.files(cmdline))
    pcie_training.show(faults, root)
    make_links(root, sysfs_cpu.links() | sysfs_rdma.links() | sysfs_pci.links(missing) | sysfs_iommu.links(cmdline))
    for empty in ("module", "block", "class/dmi", "kernel/debug", "kernel/config", "kernel/security", "power"):
        os.makedirs(f"{root}/{empty}", exist_ok=True)
    if ethernet:
        ethernet_rails.create_rails(root)
        ethernet_rails.refresh_gids(root)
    management_port(root)
    move_mount(root, "/sys")


def management_port(root: str) -> None:
    """The node's own interface is the port of an adapter, where the hardware has one for management."""
    address = machine.THIS.management
    for name in os.listdir("/sys/class/net") if address else ():
        if name.startswith("eth"):
            write_files(root, {f"{sysfs_pci.device_folder(address)}/net/{name}/dev_port": 0})


def _proc_sys(cmdline: str, boot_id: str, pages: HugePages) -> None:
    root = new_tmpfs(f"{RUN}/proc-sys")
    for name in os.listdir("/proc/sys"):
        if name != "net":
            copy_values(f"/proc/sys/{name}", f"{root}/{name}")
    for name in os.listdir("/proc/sys/net"):
        os.makedirs(f"{root}/net/{name}", exist_ok=True)
        if name != "core":  # the other folders are per network namespace, so they are this container's own
            bind(f"/proc/sys/net/{name}", f"{root}/net/{name}")
    copy_values("/proc/sys/net/core", f"{root}/net/core")
    neighbours = f"{RUN}/neigh"
    copy_values("/proc/sys/net/ipv4/neigh", neighbours)
    write_files(neighbours, procfs.NEIGHBOUR_TABLE)
    bind(neighbours, f"{root}/net/ipv4/neigh")
    fresh = procfs.proc_sys_files(cmdline, boot_id, pages.total(pages.default_kib))
    write_files(root, fresh)
    write_files(root, {"kernel/osrelease": uname.release()})
    for name in fresh:  # on a host without a watchdog the watchdog files are read-only
        os.chmod(f"{root}/{name}", 0o644)
    for own in _OWN_SYS:
        if os.path.exists(f"/proc/sys/{own}"):
            bind(f"/proc/sys/{own}", f"{root}/{own}")
    move_mount(root, "/proc/sys")


def create_proc_files(cmdline: str, pages: HugePages) -> None:
    """Replace single files of /proc by those of this machine."""
    folder = f"{RUN}/proc"
    os.makedirs(f"{folder}/driver", exist_ok=True)
    os.makedirs(f"{folder}/irq/default", exist_ok=True)
    write_files(folder, {"cmdline": cmdline, "meminfo": sysfs_memory.meminfo(pages), "cpuinfo": procfs.cpuinfo(), "sysrq-trigger": ""})
    write_files(
        folder, {"swaps": procfs.SWAPS.encode(), "modules": b"", "irq/default_smp_affinity": machine.cpu_mask(list(range(machine.CPUS)))}
    )
    write_files(folder, {"devices": procfs.devices_text()})
    for name in ("cmdline", "meminfo", "cpuinfo", "swaps", "modules", "driver", "irq", "sysrq-trigger", "devices"):
        if os.path.exists(f"/proc/{name}"):  # a kernel without modules has no /proc/modules
            bind(f"{folder}/{name}", f"/proc/{name}")


def _identity() -> None:
    """Install the host key, unless the node already has one, and the authorized key."""
    key = "/etc/ssh/ssh_host_ed25519_key"
    if not os.path.exists(key):
        shutil.copyfile(f"{SEED}/ssh_host_ed25519_key", key)
        shutil.copyfile(f"{SEED}/ssh_host_ed25519_key.pub", f"{key}.pub")
        os.chmod(key, 0o600)
    os.makedirs("/root/.ssh", mode=0o700, exist_ok=True)
    shutil.copyfile(f"{SEED}/authorized_keys", "/root/.ssh/authorized_keys")
    os.chmod("/root/.ssh/authorized_keys", 0o600)


def _kernel_log() -> None:
    """Replace /dev/kmsg by a pipe, so that journald reads the kernel messages of this node instead of the host's."""
    if os.path.lexists("/dev/kmsg"):
        os.unlink("/dev/kmsg")
    os.mkfifo("/dev/kmsg", 0o644)
    if os.fork() == 0:
        os.setsid()
        errors = os.open(f"{RUN}/supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(errors, 2)
        program = [sys.executable, "-IS", "/opt/clusterctl-lab/image_files/run.py", "supervisor"]
        os.execv(program[0], program)  # noqa: S606
