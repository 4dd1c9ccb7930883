"""The declared state of a node as pyinfra operations, one per setting that pyinfra supports. Pure.

They are derived from the checks of the node, whose ids and expected values follow from its spec. Checks that only measure (the role hardware, counters,
link states) are not settings. Settings that pyinfra does not support have no operation, but are counted.
"""

from __future__ import annotations

import re
from typing import Any

Operation = dict[str, Any]
# Checks that only measure.
_MEASURED = ("hardware.", "infiniband.counters", "infiniband.ports[")
# Endings of check ids that name the place where a setting was read, not the setting.
_VIEW = re.compile(
    r"\.(running|persisted|persisted_system|persisted_user|pending|version|held|present|mode|content|candidate|link|dkms|vermagic|psid|command|"
    r"address|periodic|starts)$"
)
_UNITS = {
    "nvidia_driver.fabric_manager.service": "nvidia-fabricmanager.service",
    "nvidia_driver.persistenced.service": "nvidia-persistenced.service",
    "nvidia_driver.dcgm.service": "nvidia-dcgm.service",
    "nvidia_driver.gpu_settings.service": "clusterctl-gpu-settings.service",
    "ofed.openibd": "openibd.service",
    "ofed.max_read_request.service": "clusterctl-ofed.service",
    "infiniband.service": "clusterctl-infiniband.service",
    "hugepages.service": "clusterctl-hugepages.service",
}
_PAGES_KB = {"1G": 1048576, "2M": 2048}
_GPU = {
    "persistence_mode": "persistence_mode",
    "mig": "current_mig",
    "ecc": "current_ecc",
    "power_limit_w": "current_power_limit",
    "gsp_firmware": "gsp_firmware_version",
}
# Commands that show a setting. {0}: text in brackets; {1}: page size in KiB; {2}: NUMA node.
_COMMANDS = {
    "hugepages.pages[": "cat /sys/devices/system/node/node{2}/hugepages/hugepages-{1}kB/nr_hugepages",
    "hugepages.cmdline": "cat /proc/cmdline",
    "hugepages.mounts[": "findmnt -n {0}",
    "os_tuning.thp_enabled": "cat /sys/kernel/mm/transparent_hugepage/enabled",
    "os_tuning.thp_defrag": "cat /sys/kernel/mm/transparent_hugepage/defrag",
    "os_tuning.governor": "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "os_tuning.idle_latency_max_us": "cat /sys/devices/system/cpu/cpu0/cpuidle/state3/disable",
    "os_tuning.swap": "cat /proc/swaps",
    "os_tuning.systemd_limits[": "systemctl show -p DefaultLimit{0}",
    "os_tuning.irqbalance": "systemctl is-enabled irqbalance.service",
    "os_tuning.auto_upgrades": "cat /etc/apt/apt.conf.d/20auto-upgrades",
    "ofed.driver": "cat /sys/module/mlx5_core/version",
    "ofed.release": "ofed_info -s",
    "ofed.device_names": "ls /sys/class/infiniband",
    "ofed.rebuild[": "modinfo -F vermagic {0}",
    "ofed.firmware[": "cat /sys/class/infiniband/{0}/fw_ver",
    "ofed.max_read_request[": "setpci -s $(basename $(readlink /sys/class/infiniband/{0}/device)) CAP_EXP+8.w",
    "nvidia_driver.kernel_module": "modinfo -F license nvidia",
    "nvidia_driver.nvidia_smi": "nvidia-smi -q -x",
    "nvidia_driver.peermem": "lsmod",
    "nvidia_driver.gpu_settings.": "cat /usr/local/sbin/clusterctl-gpu-settings",
    "cuda.default": "readlink -f /etc/alternatives/cuda",
    "nccl.library": "ldconfig -p",
    "nccl.conf": "stat -c '%U %a' /etc/nccl.conf",
}


def operations_from_findings(findings: list[dict[str, Any]]) -> tuple[list[Operation], int]:
    """The operations, and the number of settings in the findings."""
    made: dict[str, Operation] = {}
    settings = set()
    expected = {f["check"]: str(f["expected"]) for f in findings if f["outcome"] != "not_applicable"}
    for check in expected:
        if check.startswith(_MEASURED):
            continue
        setting = _setting(check)
        settings.add(setting)
        operation = _operation(setting, check, expected)
        if operation:
            made[setting] = operation
    return list(made.values()), len(settings)


def _setting(check: str) -> str:
    """The id of the setting that a check is about."""
    while (shorter := _VIEW.sub("", check)) != check:
        check = shorter
    return check


def _operation(setting: str, check: str, expected: dict[str, str]) -> Operation | None:
    """The operation for a setting; None if neither an operation nor a command for it exists."""
    inside = setting.partition("[")[2].rpartition("]")[0]
    return _file(setting, check, expected) or _unit(setting, inside, expected) or _value(setting, inside, expected[check])


def _file(setting: str, check: str, expected: dict[str, str]) -> Operation | None:
    """A file with its owner and mode."""
    path, owner = expected.get(f"{setting}.present", ""), expected.get(f"{setting}.mode", "")
    if setting.startswith("infiniband.files["):
        path, owner = setting.partition("[")[2].rpartition("]")[0], expected[check].partition(",")[0]
    if not path:
        return None
    user, mode = owner.split()
    return {"do": "file", "path": path, "user": user, "mode": mode}


def _unit(setting: str, inside: str, expected: dict[str, str]) -> Operation | None:
    """A package, a service or a module."""
    if ".package[" in setting or setting.startswith("infiniband.packages["):
        version = expected.get(f"{setting}.version", "").removeprefix("version ")
        return {"do": "package", "package": f"{inside}={version}" if version else inside}
    if setting.startswith(("os_tuning.services[", "os_tuning.firewall[", "os_tuning.auto_upgrades[")):
        return {"do": "service", "service": inside, "running": False, "enabled": False}
    if setting in _UNITS:
        return {"do": "service", "service": _UNITS[setting], "running": expected.get(f"{setting}.running") == "active", "enabled": True}
    if setting.startswith("kernel.modules"):
        return {"do": "module", "module": inside, "present": "absent" not in setting}
    return None


def _value(setting: str, inside: str, value: str) -> Operation | None:
    """A value in the kernel or in a line of a file."""
    if ".sysctl[" in setting:
        return {"do": "sysctl", "key": inside, "value": value}
    if setting.startswith("os_tuning.limits["):
        domain, kind, item = inside.split()
        return {"do": "limit", "domain": domain, "limit_type": kind, "item": item, "value": int(value)}
    if setting.startswith("nccl.conf["):
        return {"do": "line", "path": "/etc/nccl.conf", "line": f"{inside}={value}"}
    if setting.startswith("nvidia_driver.parameter["):
        return {"do": "line", "path": "/etc/modprobe.d/zz-clusterctl-nvidia.conf", "line": f".*{inside}={value}.*"}
    return _command_check(setting, inside, value)


def _command_check(setting: str, inside: str, value: str) -> Operation | None:
    """A command whose output is compared, for settings without a pyinfra operation."""
    if setting.startswith("ofed.mlxconfig["):
        device, _, key = inside.partition(".")
        return {
            "do": "tool",
            "command": f"mlxconfig -d $(basename $(readlink /sys/class/infiniband/{device}/device)) -e query || true",
            "has": key,
        }
    if setting.startswith("nvidia_driver.gpu[") and (field := _GPU.get(setting.rpartition(".")[2])):
        return {"do": "tool", "command": "nvidia-smi -q -x", "has": f"<{field}>"}
    if setting.startswith("kernel.cmdline["):
        return {"do": "tool", "command": "cat /proc/cmdline", "has": "" if value == "(absent)" else value}
    command = next((text for start, text in _COMMANDS.items() if setting.startswith(start)), "")
    node = setting.rpartition(".node")[2]
    return {"do": "tool", "command": command.format(inside, _PAGES_KB.get(inside, 0), node) + " || true", "has": ""} if command else None
