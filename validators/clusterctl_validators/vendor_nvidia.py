"""NVIDIA, for the framework."""

from clusterctl_tools import nvidia_smi
from clusterctl_validators import nvidia, nvidia_processes
from clusterctl_validators.gpu import GpuVendor

VENDOR = GpuVendor(
    name="nvidia",
    reader=nvidia.NvidiaReader,
    counter_commands=nvidia.COUNTER_COMMANDS,
    link_counter_commands=nvidia.LINK_COUNTER_COMMANDS,
    version_command=nvidia.VERSION_COMMAND,
    log_pattern=nvidia.LOG_PATTERN,
    compute_devices=nvidia_processes.COMPUTE_DEVICES,
    services=nvidia_processes.GPU_SERVICES,
    parts_command=tuple(nvidia_smi.fields_argv(nvidia_smi.PART_FIELDS)),
    read_parts=nvidia_smi.parse_parts,
    error_counters=nvidia.error_counters,
    events_of=nvidia.events_of,
)
