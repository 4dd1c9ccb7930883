"""Selects the reader for the vendor of the GPUs. NVIDIA is the only vendor with a reader."""

from clusterctl_validators import nvidia, nvidia_processes
from clusterctl_validators.gpu import GpuReader
from clusterctl_validators.probe import Probe

ADVICE = nvidia.ADVICE
COUNTER_COMMANDS = nvidia.COUNTER_COMMANDS
LINK_COUNTER_COMMANDS = nvidia.LINK_COUNTER_COMMANDS
VERSION_COMMAND = nvidia.VERSION_COMMAND
LOG_PATTERN = nvidia.LOG_PATTERN
PCI_FUNCTIONS = nvidia.PCI_FUNCTIONS
COMPUTE_DEVICES = nvidia_processes.COMPUTE_DEVICES
GPU_SERVICES = nvidia_processes.GPU_SERVICES
DIAGNOSTICS_DAEMON = nvidia_processes.DIAGNOSTICS_DAEMON
error_counters = nvidia.error_counters
events_of = nvidia.events_of


def reader_of(probe: Probe) -> GpuReader:
    """The reader of a node's GPUs."""
    return nvidia.NvidiaReader(probe)
