"""Effects of a fault on the running machine: kernel log lines, link rates, devices on the PCI bus."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from . import link_messages, machine, pcie_training, pseudo_files, state, sysfs_pci, sysfs_rdma
from .kernel_log import xid_line

if TYPE_CHECKING:
    from .kernel_log import KernelLog
    from .state import Fault, Faults

_XIDS = {
    "13": "pid=4711, name=python3, Graphics SM Warp Exception on (GPC 1, TPC 0, SM 1): Out Of Range Address",
    "31": "pid=4711, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS faulted @ 0x7f_a4c00000",
    "48": "pid=4711, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 3, subpartition 0.",
    "63": "Row Remapper: New row marked for remapping, reset gpu to activate.",
    "64": "Row Remapper: Failed to remap row, all rows of the bank are used.",
    "74": "pid=0, NVLink: fatal error detected on link 7(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    "79": "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "94": "pid=4711, name=python3, Contained: LTC (0x0, 0x1). RST: No, D-RST: No",
    "95": "pid=4711, name=python3, Uncontained: FBHUB. RST: Yes, D-RST: No",
    "119": "pid=4711, name=nvidia-smi, Timeout after 45s of waiting for RPC response from GPU GSP! Expected function 76",
    # As GB200 logged them (leptonai/gpud): what another GPU's link raised, and a link that its other end took down.
    "145": "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)",
    "149": "NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
}
# Severity, layer and agent, and log level, as drivers/pci/pcie/aer.c of Linux 6.8 prints them.
_AER = {
    "fatal": ("Uncorrected (Fatal)", "Data Link Layer, (Receiver ID)", "err"),
    "nonfatal": ("Uncorrected (Non-Fatal)", "Transaction Layer, (Requester ID)", "err"),
    "corrected": ("Corrected", "Physical Layer, (Receiver ID)", "warn"),
}


# As real machines logged them (leptonai/gpud, components/disk; linux-nvme mailing list).
_DISK = {
    "lost": (
        "nvme nvme3: I/O tag 22 (2016) opcode 0x2 (Admin Cmd) QID 0 timeout, reset controller",
        "nvme nvme3: Device not ready; aborting reset, CSTS=0x1",
        "nvme nvme3: Disabling device after reset failure: -19",
        "I/O error, dev nvme3n1, sector 499204104 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2",
    ),
    "read_only": (
        "EXT4-fs error (device nvme3n1p1): ext4_journal_check_start:87: comm dockerd: Detected aborted journal",
        "EXT4-fs (nvme3n1p1): Remounting filesystem read-only",
    ),
    "reset": ("nvme nvme3: I/O tag 641 (c281) opcode 0x1 (I/O Cmd) QID 8 timeout, reset controller",),
}
# As ConnectX-7 and -8 logged them (NVIDIA/NVSentinel and leptonai/gpud, tests). Assumed: the port of an adapter whose firmware failed shows its last state.
_ADAPTER = {
    "failed": (
        "print_health_info:431:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
        "poll_health:825:(pid 0): device's health compromised - reached miss count",
    ),
    "hot": ("Port module event[error]: module 0, Cable error, High Temperature",),
}
# Rows that are to be remapped are announced by an XID that requires nothing by itself.
_LOAD_XIDS = {"xid": "95", "row_remap": "63"}


def log_fault(fault: Fault, node: str, log: KernelLog) -> None:
    """Write the kernel messages of a new fault."""
    if fault.name == "xid":
        gpu = machine.gpu(node, int(fault.device or 0))
        log.log(xid_line(gpu.bus_id, int(fault.option), _XIDS.get(fault.option, "unknown error")), "err")
    elif fault.name == "ecc_uncorrectable":
        gpu = machine.gpu(node, int(fault.device))
        log.log(xid_line(gpu.bus_id, 48, _XIDS["48"]), "err")
        log.log(xid_line(gpu.bus_id, 64, _XIDS["64"]), "err")
    elif fault.name == "pcie_error":
        address = machine.THIS.hca_addresses[machine.THIS.hca_names.index(fault.device)]
        severity, kind, level = _AER[fault.option]
        log.log(f"pcieport {sysfs_pci.ports_of(address)[0]}: AER: {severity.split(' ')[0]} error message received from {address}", level)
        log.log(f"mlx5_core {address}: PCIe Bus Error: severity={severity}, type={kind}", level)
    elif fault.name == "hca_firmware":
        address = machine.THIS.hca_addresses[machine.THIS.hca_names.index(fault.device)]
        for line in _ADAPTER[fault.option]:
            log.log(f"mlx5_core {address}: {line}", "err")
    elif fault.name == "disk_error":
        for line in _DISK[fault.option]:
            log.log(line, "err")
    elif fault.name == "link_flaps":
        link_messages.log_losses(log, fault.device, int(fault.option))


def _counted(faults: Faults, hca: str) -> dict[str, int]:
    options = [fault.option for fault in faults.of("pcie_error", hca)]
    return {severity: options.count(severity) for severity in _AER}


def raise_load_errors(faults: list[Fault], node: str, log: KernelLog, root: str = "/sys") -> None:
    """What load brings out: kernel messages and link errors. Values of nvidia-smi follow by themselves."""
    for fault in faults:
        index = int(fault.device)
        code = _LOAD_XIDS.get(fault.option)
        if code:
            log.log(xid_line(machine.gpu(node, index).bus_id, int(code), _XIDS[code]), "err")
        if fault.option == "dimm_errors":
            pseudo_files.write_files(
                root, {"devices/system/edac/mc/mc0/dimm1/dimm_ce_count": 4000, "devices/system/edac/mc/mc0/ce_count": 4000}
            )
        if fault.option == "link_error" and index < len(machine.THIS.hca_names):
            counters = f"class/infiniband/{machine.THIS.hca_names[index]}/ports/1/counters"
            pseudo_files.write_files(root, {f"{counters}/symbol_error": 214, f"{counters}/link_error_recovery": 1})


def _remove_hcas(faults: Faults, root: str) -> None:
    """Adapters that die while the node runs: the others keep their names until the next boot."""
    names = state.hca_names() or {name: name for name in machine.THIS.hca_names}
    for name in faults.missing_hcas() & {name for name, now in names.items() if now}:
        index = list(machine.THIS.hca_names).index(names[name])
        address = machine.THIS.hca_addresses[index]
        state.set_flag("hca-dead", f"{state.flag('hca-dead')} {address}".strip())
        state.set_flag("hca-names", json.dumps({**names, name: ""}))
        names[name] = ""
        for path in (f"class/infiniband/{machine.THIS.hca_names[index]}", sysfs_pci.device_folder(address)):
            shutil.rmtree(f"{root}/{path}", ignore_errors=True)
        if os.path.lexists(f"{root}/bus/pci/devices/{address}"):
            os.unlink(f"{root}/bus/pci/devices/{address}")


def apply_faults(faults: Faults, root: str = "/sys") -> None:
    """Update link rates, counters of lost links and PCI devices in sysfs to match the faults."""
    trained = faults.trained_gbps()
    for fault in faults.of("link_flaps"):
        pseudo_files.write_files(root, {f"class/infiniband/{fault.device}/ports/1/counters/link_downed": int(fault.option)})
    _remove_hcas(faults, root)
    for index in machine.live_hcas():
        name, address = machine.THIS.hca_names[index], machine.THIS.hca_addresses[index]
        folder = sysfs_pci.device_folder(address)
        pseudo_files.write_files(root, sysfs_pci.error_counters(folder, _counted(faults, name)))
        rate = sysfs_rdma.rate_text(trained.get(name, machine.THIS.line_rate_gbps))
        pseudo_files.write_files(root, {f"class/infiniband/{name}/ports/1/rate": rate})
    missing = faults.missing_gpus()
    present, complete = sysfs_pci.links(missing), sysfs_pci.links(set())
    for path in complete:
        if path not in present and os.path.lexists(f"{root}/{path}"):
            os.unlink(f"{root}/{path}")
    for index in missing:
        shutil.rmtree(f"{root}/{sysfs_pci.device_folder(machine.THIS.gpu_addresses[index])}", ignore_errors=True)
    restored = {p: t for p, t in present.items() if not os.path.lexists(f"{root}/{p}")}
    if restored:
        absent = {name: content for name, content in sysfs_pci.files(missing).items() if not os.path.exists(f"{root}/{name}")}
        pseudo_files.write_files(root, absent)
        pseudo_files.make_links(root, restored)
    pcie_training.show(faults, root)
