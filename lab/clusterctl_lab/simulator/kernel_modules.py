"""Kernel modules of the simulated machine: loading, unloading, modprobe.d and the modules that a boot loads."""

from __future__ import annotations

import glob
import os
import shlex
import shutil

from . import imex_channel, machine, pci_drivers, state, uname
from .cmdline import parse_cmdline
from .pseudo_files import write_files

# Modules of the distribution's kernel that roles load. They have no version.
IN_TREE = [
    "ib_core",
    "ib_uverbs",
    "ib_umad",
    "ib_cm",
    "ib_ipoib",
    "iw_cm",
    "rdma_cm",
    "rdma_ucm",
    "mlx5_core",
    "mlx5_ib",
    "mlxfw",
    "nouveau",
    "nvme",
    "nvme_core",
    "msr",
    "ipmi_si",
    "ipmi_devintf",
    "ipmi_ssif",
    "ipmi_msghandler",
    "nfs",
    "nfsv4",
    "sunrpc",
    "rpcrdma",
    "xprtrdma",
    "svcrdma",
    "overlay",
    "br_netfilter",
    "bonding",
    "8021q",
    "vfio",
    "vfio_pci",
    "irdma",
    "bnxt_re",
    "intel_rapl_msr",
    "acpi_cpufreq",
    "edac_core",
    "loop",
    "fuse",
    "configfs",
    "tcp_bbr",
    "sch_fq",
    "xfs",
    "dummy",
]
# Modules that udev loads for devices on the bus.
_AUTOLOADED = ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs", "nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm")
_NEEDS = {"nvidia_uvm": "nvidia", "nvidia_modeset": "nvidia", "nvidia_drm": "nvidia_modeset", "nvidia_peermem": "nvidia"}
# Default values in /sys/module/*/parameters.
_PARAMETERS = {"nvidia_uvm": {"uvm_disable_hmm": "N"}, "nvidia_drm": {"modeset": "N"}, "nvidia_peermem": {"peerdirect_support": "0"}}
# Default values in /proc/driver/nvidia/params.
_NVIDIA_PARAMS = {
    "RestrictProfilingToAdminUsers": "1",
    "NvLinkDisable": "0",
    "EnableGpuFirmware": "18",
    "EnableStreamMemOPs": "1",
    "ImexChannelCount": "2048",
    "CreateImexChannel0": "0",
    "PreserveVideoMemoryAllocations": "0",
}
_CONF = ("/etc/modprobe.d/*.conf", "/lib/modprobe.d/*.conf")


class ModuleError(Exception):
    """A module cannot be loaded or unloaded. Has modprobe's message."""


def available_version(name: str) -> str | None:
    """The version of a module that can be loaded, empty for a module of the kernel; None if there is no such module."""
    found = state.read(f"{state.MODULES}/{name}").partition("\n")[0]
    return found or ("" if name in IN_TREE and uname.has_module(name) else None)


def modinfo_overrides(name: str) -> dict[str, str]:
    """Modinfo fields that differ from those of a module built for this kernel: the `field value` lines of the module's file."""
    lines = state.read(f"{state.MODULES}/{name}").splitlines()[1:]
    return {field: value for field, _, value in (line.partition(" ") for line in lines)}


def require_module(name: str) -> str:
    """The version of a module as in `available_version`.

    Raises:
        ModuleError: there is no such module.
    """
    version = available_version(name)
    if version is None:
        raise ModuleError(f"modprobe: FATAL: Module {name} not found in directory /lib/modules/{uname.release()}")
    return version


def load_module(name: str, parameters: dict[str, str] | None = None) -> None:
    """Load a module and its dependency, with the options of modprobe.d and of the kernel command line.

    Raises:
        ModuleError: it does not exist, or modprobe.d disables it.
    """
    name = name.replace("-", "_")
    if state.is_module_loaded(name):
        return
    version = require_module(name)
    if name in _disabled_by_install():
        raise ModuleError(
            f"modprobe: ERROR: ../libkmod/libkmod-module.c:1047 command_do() Error running install command '/bin/false' for module {name}"
        )
    if name in _NEEDS:
        load_module(_NEEDS[name])
    options = {**configured_options(name), **(parameters or {})}
    files: dict[str, str | int | bytes] = {"refcnt": 0, "initstate": "live", "coresize": 16384, "taint": ""}
    if version:
        files |= {"version": version, "taint": "OE"}
    shown = {**_PARAMETERS.get(name, {}), **options} if name != "nvidia" else {}
    files |= {f"parameters/{key}": value for key, value in shown.items()}
    write_files(f"{state.LOADED}/{name}", files)
    os.makedirs(f"{state.LOADED}/{name}/holders", exist_ok=True)
    pci_drivers.bind(name)
    if name == "nvidia":
        _nvidia_proc(version, options)
        if options.get("NVreg_CreateImexChannel0") == "1" and machine.THIS.rack_nvlink:
            imex_channel.create_channel()


def unload_module(name: str) -> None:
    """Unload a module.

    Raises:
        ModuleError: it is not loaded.
    """
    name = name.replace("-", "_")
    if not state.is_module_loaded(name):
        raise ModuleError(f"modprobe: FATAL: Module {name} is not loaded.")
    pci_drivers.release(name)
    shutil.rmtree(f"{state.LOADED}/{name}")


def on_boot(cmdline: str) -> list[str]:
    """Load the modules of devices on the bus that are not blacklisted, then those of modules-load.d. Returns modprobe's error messages."""
    blacklisted = _blacklisted(cmdline)
    problems = []
    for name in _AUTOLOADED:
        if name not in blacklisted and available_version(name) is not None and (name not in _NEEDS or state.is_module_loaded(_NEEDS[name])):
            problems += _load_or_explain(name)
    for path in sorted(glob.glob("/etc/modules-load.d/*.conf") + glob.glob("/usr/lib/modules-load.d/*.conf")):
        names = [line.strip() for line in state.read(path).splitlines()]
        problems += [p for n in names if n and n[0] not in "#;" for p in _load_or_explain(n)]
    return problems


def configured_options(name: str) -> dict[str, str]:
    """The options of a module from modprobe.d and from the kernel command line, which takes precedence."""
    result: dict[str, str] = {}
    for line in _conf_lines():
        if len(line) > 2 and line[0] == "options" and line[1].replace("-", "_") == name:
            result |= dict(word.split("=", 1) for word in line[2:] if "=" in word)
    for word, value in parse_cmdline(state.read("/proc/cmdline")):
        module, dot, option = word.partition(".")
        if dot and module.replace("-", "_") == name and value is not None:
            result[option] = value
    return result


def _load_or_explain(name: str) -> list[str]:
    try:
        load_module(name)
    except ModuleError as e:
        return [str(e)]
    return []


def _conf_lines() -> list[list[str]]:
    files = {os.path.basename(p): p for pattern in reversed(_CONF) for p in glob.glob(pattern)}
    lines = [line.strip() for name in sorted(files) for line in state.read(files[name]).replace("\\\n", " ").splitlines()]
    return [_split_like_modprobe(line) for line in lines if line and not line.startswith("#")]


def _split_like_modprobe(line: str) -> list[str]:
    """Split a line like modprobe, for which an unclosed quote is an ordinary character."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _disabled_by_install() -> set[str]:
    return {
        line[1].replace("-", "_")
        for line in _conf_lines()
        if len(line) > 2 and line[0] == "install" and line[2] in ("/bin/false", "/bin/true")
    }


def _blacklisted(cmdline: str) -> set[str]:
    names = {line[1].replace("-", "_") for line in _conf_lines() if len(line) == 2 and line[0] == "blacklist"}
    for word, value in parse_cmdline(cmdline):
        if word in ("module_blacklist", "modprobe.blacklist") and value:
            names |= {n.replace("-", "_") for n in value.split(",")}
    return names


def _nvidia_proc(version: str, options: dict[str, str]) -> None:
    values = dict(_NVIDIA_PARAMS)
    values |= {key.removeprefix("NVreg_"): value for key, value in options.items() if key.startswith("NVreg_")}
    node = os.uname().nodename
    files: dict[str, str | int | bytes] = {
        "version": f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (simulated)\nGCC version:  gcc",
        "params": "\n".join(f"{key}: {value}" for key, value in sorted(values.items())),
    }
    for index in set(range(machine.GPUS)) - state.read_faults().missing_gpus():
        gpu = machine.gpu(node, index)
        text = f"Model: \t\t {machine.THIS.gpu_model}\nGPU UUID: \t {gpu.uuid}\nBus Location: \t {gpu.bus_id[4:].lower()}\nGPU Firmware: \t {version}"
        files[f"gpus/{gpu.bus_id[4:].lower()}/information"] = text
    write_files(f"{state.RUN}/proc/driver/nvidia", files)
