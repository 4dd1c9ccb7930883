"""The vendor of the GPUs. NVIDIA is the only one that there is a reader of; a second one is chosen here."""

from clusterctl_validators import nvidia
from clusterctl_validators.gpu import GpuReader
from clusterctl_validators.probe import Probe

ADVICE = nvidia.ADVICE


def reader_of(probe: Probe) -> GpuReader:
    """The reader of a node's GPUs."""
    return nvidia.NvidiaReader(probe)
