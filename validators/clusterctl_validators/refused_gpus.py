"""GPUs that the driver refuses although they are sound: the kernel log has the reason, and the hint is about that instead of the GPU."""

import re
from typing import Pattern

from clusterctl_tools.gpu import UnreadableGpuError
from clusterctl_validators import boot_log
from clusterctl_validators.finding import Severity
from clusterctl_validators.nvidia import NvidiaReader
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

_CHECK = "nvidia_driver.memory_zone"
# How the kernel brings up memory that is added (Documentation/admin-guide/mm/memory-hotplug.rst); `memhp_default_state=` sets it at boot.
_POLICY = "/sys/devices/system/memory/auto_online_blocks"
# NVIDIA/open-gpu-kernel-modules, os-interface.c; seen on GB300 with driver 580 and a kernel of Ubuntu 24.04 (index id 69365140501).
_OTHER_ZONE = re.compile(r"NVRM: .*(?:onlining zone is not movable|zone movable auto onlining failed)")


def refuses_gpus(probe: Probe, message: Pattern[str]) -> bool:
    """Whether GPUs of the bus are missing, and the driver logged this message; a line before a repair of the same boot does not count.

    Raises:
        UnreadableLogError: GPUs are missing, and the kernel log that may have the reason cannot be read.
    """
    reader = NvidiaReader(probe)
    try:
        if len(reader.query().gpus) >= len(reader.on_pci()):
            return False
    except UnreadableGpuError:
        pass
    lines = boot_log.read_log(probe).text.splitlines()
    start = re.compile(boot_log.MESSAGE_START + message.pattern)
    return any(start.match(line) for line in lines)


def judge_memory_zone(record: Record, probe: Probe) -> None:
    """Memory of GPUs at a coherent link (Grace) is memory of the system: the driver refuses a GPU whose memory the kernel would use for itself."""
    try:
        refused = refuses_gpus(probe, _OTHER_ZONE)
    except boot_log.UnreadableLogError as e:
        record.could_not_run(_CHECK, str(e), Severity.CRITICAL)
        return
    if refused:
        found = "refused: new memory is brought up as {}".format((probe.read(_POLICY) or "").strip() or "something else")
        hint = (
            "the GPU is not defective: add `memhp_default_state: online_movable` to kernel_cmdline and provision the node, which reboots it"
        )
        record.ok(_CHECK, False, expected="online_movable", found=found, severity=Severity.CRITICAL, hint=hint)
    else:
        record.equal(_CHECK, "not refused", "not refused")
