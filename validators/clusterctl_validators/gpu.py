"""The GPUs of a node, independent of their vendor: events in the kernel log, advice about faults, and the reader of a vendor's tools.

Checks and burn-in use only these types and those of `clusterctl_tools.gpu`; `gpu_vendor` selects the reader.
"""

from dataclasses import dataclass
from typing import Callable, Dict, FrozenSet, List, Mapping, Protocol, Sequence, Tuple, Union

from clusterctl_tools.gpu import GpuLog, GpuPart
from clusterctl_validators.probe import Probe


@dataclass(frozen=True)
class GpuEvent:
    """An error of a GPU, or of a switch between GPUs, in the kernel log.

    Attributes:
        time: as logged, with the year; empty if the log has none.
        pci: address of the GPU or switch, as logged.
        code: the vendor's number for the error.
        harmless: the vendor requires no action on the node.
        action: the next action.
        suspects_application: the vendor suspects the program that ran; where that is known to work, it is the GPU.
        lost_data: a memory error that was contained in one program.
        notable: harmless, and the vendor recommends to look into it.
        of_link: about a link to another GPU or to a switch.
    """

    time: str
    pci: str
    code: int
    detail: str
    harmless: bool
    action: str
    suspects_application: bool = False
    lost_data: bool = False
    notable: bool = False
    of_link: bool = False


@dataclass(frozen=True)
class GpuEvents:
    """The errors since boot, in the order of the log."""

    gpus: Tuple[GpuEvent, ...]
    switches: Tuple[GpuEvent, ...]


@dataclass(frozen=True)
class GpuAdvice:
    """The next action for faults without an error code of one GPU. `{gpu}` stands for the GPU, or for the node."""

    missing: str
    fabric: str
    links: str
    switch: str
    link_flaps: str = ""
    persistence: str = ""
    row_remap: str = ""
    stress: str = ""
    corruption: str = ""
    slow_copy: str = ""
    slow_copy_on_board: str = ""
    slow_collective: str = ""
    wrong_domain: str = ""
    unusable_domain: str = ""
    refused_multicast: str = ""
    no_sharp: str = ""
    fabric_not_ready: str = ""


class GpuReader(Protocol):
    """Reads the GPUs of one node through a vendor's tools.

    Attributes:
        tool: the program that `query` runs, for messages.
        near_paths: the paths of `hca_paths` that stay within a PCIe switch.
    """

    tool: str
    near_paths: FrozenSet[str]
    advice: GpuAdvice

    def query(self) -> GpuLog:
        """Driver and GPUs. Raises UnreadableGpuError if the tool fails or its output is unexpected."""

    def on_pci(self) -> List[str]:
        """The folders in sysfs of the GPUs of this vendor on the PCI bus."""

    def active_links(self) -> Dict[int, Dict[int, float]]:
        """GPU index -> active link to other GPUs -> its rate in GB/s in one direction. Raises UnreadableGpuError as `query`."""

    def link_losses(self) -> Dict[int, Dict[int, int]]:
        """GPU index -> link to other GPUs -> how often it was lost since its counters began; a link of which nothing is counted is left out. Raises UnreadableGpuError as `query`."""

    def hca_paths(self) -> Dict[str, Dict[int, str]]:
        """HCA -> GPU index -> the path between them. Raises UnreadableGpuError as `query`."""

    def events(self) -> GpuEvents:
        """The errors in the kernel log of this boot. Raises UnreadableGpuError if no log can be read."""

    def ecc_command(self, index: int, enabled: bool) -> str:
        """The command that sets ECC of a GPU."""

    def power_command(self, index: int, limit_w: float) -> str:
        """The command that sets the power limit of a GPU."""


@dataclass(frozen=True)
class GpuVendor:
    """All that the framework itself runs and reads of a vendor's tools. Roles, validators and gates of a vendor are chosen by `node_roles` and profile.

    Attributes:
        name: as `hardware_gpu_vendor` declares it; the module is `vendor_<name>.py`.
        reader: the `GpuReader` of a node.
        counter_commands, link_counter_commands: what prints the error counters of GPUs, and of the links between them.
        version_command: what prints the version of the vendor's tool.
        log_pattern: regular expression of the lines of the kernel log that are about its devices.
        compute_devices: what a process holds open that computes on a GPU.
        services: programs of its own that may hold them beside a measurement.
        parts_command: what prints the serial numbers of the GPUs.
        read_parts: that output -> GPUs; a line that cannot be read is left out.
        error_counters: command -> output -> device -> counter -> value. Raises UnreadableGpuError.
        events_of: lines of a kernel log, each with a match of `log_pattern` -> errors.
    """

    name: str
    reader: Callable[[Probe], GpuReader]
    counter_commands: Tuple[str, ...]
    link_counter_commands: Tuple[str, ...]
    version_command: Tuple[str, ...]
    log_pattern: str
    compute_devices: Tuple[str, ...]
    services: Tuple[str, ...]
    parts_command: Tuple[str, ...]
    read_parts: Callable[[str], List[GpuPart]]
    error_counters: Callable[[Mapping[str, str]], Dict[str, Mapping[str, Union[int, float]]]]
    events_of: Callable[[Sequence[str]], GpuEvents]
