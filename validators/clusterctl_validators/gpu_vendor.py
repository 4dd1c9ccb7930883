"""Selects the reader for the vendor of the GPUs. NVIDIA is the only vendor with a reader."""

from clusterctl_validators import nvidia
from clusterctl_validators.gpu import GpuReader
from clusterctl_validators.probe import Probe

ADVICE = nvidia.ADVICE


def reader_of(probe: Probe) -> GpuReader:
    """The reader of a node's GPUs."""
    return nvidia.NvidiaReader(probe)
