"""The devices of a node that gates measure, as its `hardware` spec declares them: HCAs by rail, GPUs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from clusterctl.model.errors import GatesInvalidError
from clusterctl.model.problem import Problem
from clusterctl_validators.gpu_vendor import DEFAULT
from clusterctl_validators.hca_ports import label

if TYPE_CHECKING:
    from clusterctl.model.node import Node


@dataclass(frozen=True, slots=True)
class Hca:
    """One port of an RDMA device. HCAs of equal `rail` (from 0) are measured against each other; `rate_gbps` is the line rate, `gpu` the near GPU.

    Attributes:
        name: `mlx5_0`; `roce_r0/3` for port 3 of a device whose planes are its ports.
        gpu_assumed: nobody declared the near GPU, so it is the one with the number of the rail, which neighbouring rails share where there are more of them
            than GPUs; the role `hardware` checks declared ones only.
    """

    name: str
    rail: int
    rate_gbps: float
    gpu: int = 0
    gpu_assumed: bool = False

    @property
    def device(self) -> str:
        """As the kernel names it."""
        return rdma_device_of(self.name)

    @property
    def port(self) -> int:
        """The port of the device."""
        return int(self.name.partition("/")[2] or 1)


def rdma_device_of(name: str) -> str:
    """The device of a port that is named `roce_r0/3`."""
    return name.partition("/")[0]


def hcas_of(node: Node) -> tuple[Hca, ...]:
    """The HCAs of `hardware_hcas`, by rail; empty where the spec declares none.

    Raises:
        GatesInvalidError: an entry lacks its name or rate, or a rail occurs twice.
    """
    return read_hcas(node.spec.roles.get("hardware", {}), node.name)


def gpus_of(node: Node) -> int:
    """The number of GPUs of `hardware_gpus`; 0 where the spec declares none."""
    return _count(node.spec.roles.get("hardware", {}).get("hardware_gpus"))


def nvme_disks_of(node: Node) -> int:
    """The number of NVMe data disks of `hardware_nvme_data_disks`; 0 where the spec declares none."""
    return int(node.spec.roles.get("hardware", {}).get("hardware_nvme_data_disks") or 0)


def gpu_vendor_of(node: Node) -> str:
    """The vendor of its GPUs, `hardware_gpu_vendor`; runs that were recorded before there was a choice are of the default."""
    return str(node.spec.roles.get("hardware", {}).get("hardware_gpu_vendor") or DEFAULT)


def gpu_link_of(node: Node) -> tuple[int, int]:
    """The PCIe generation and the lanes of each GPU, `hardware_gpu_pcie_gen` and `_width`; 0 where the spec declares none."""
    hardware = node.spec.roles.get("hardware", {})
    return int(hardware.get("hardware_gpu_pcie_gen") or 0), int(hardware.get("hardware_gpu_pcie_width") or 0)


def gpu_joins_of(node: Node) -> tuple[int | None, bool]:
    """The NVLinks of each GPU, `hardware_gpu_nvlinks`, None where the spec does not have it; and whether NVSwitches join all GPUs, `hardware_gpu_fabric`."""
    hardware = node.spec.roles.get("hardware", {})
    links = hardware.get("hardware_gpu_nvlinks")
    return None if links is None else int(links), bool(hardware.get("hardware_gpu_fabric"))


def gpu_model_of(node: Node) -> str:
    """The GPU model of `hardware_gpu_model`, as nvidia-smi prints it; empty where the spec declares none."""
    return str(node.spec.roles.get("hardware", {}).get("hardware_gpu_model") or "")


def gpu_power_limit_of(node: Node) -> int:
    """The least power limit of its GPUs in W, `hardware_gpu_power_limit_w`; 0 where the spec declares none, and it is that of the board."""
    return int(node.spec.roles.get("hardware", {}).get("hardware_gpu_power_limit_w") or 0)


def read_hcas(hardware: Mapping[str, Any], owner: str) -> tuple[Hca, ...]:
    """As `hcas_of`, from the variables of the role `hardware`."""
    found: list[Hca] = []
    entries, gpus = hardware.get("hardware_hcas") or [], _count(hardware.get("hardware_gpus"))
    for index, entry in enumerate(entries):
        where = f"hardware_hcas[{index}]"
        if not isinstance(entry, Mapping) or not entry.get("name"):
            raise _wrong(owner, where, "has no name")
        rate = entry.get("rate_gbps")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not isfinite(rate) or rate <= 0:
            raise _wrong(owner, f"{where}.rate_gbps", f"{rate!r} is not a rate in Gb/s")
        # What a profile leaves out, the role's argument specification has as null.
        rail = len(found) if entry.get("rail") is None else int(entry["rail"])
        gpu = entry.get("gpu")
        near = _assumed_gpu(rail, len(entries), gpus) if gpu is None else int(gpu)
        found.append(Hca(label(entry), rail, float(rate), near, gpu is None))
    twice = [h for h in found if sum(o.rail == h.rail for o in found) > 1]
    if twice:
        raise _wrong(owner, "hardware_hcas", f"rail {twice[0].rail} occurs twice ({twice[0].name})")
    return tuple(sorted(found, key=lambda h: h.rail))


def _count(gpus: Any) -> int:
    return len(gpus) if isinstance(gpus, list) else int(gpus or 0)


def _assumed_gpu(rail: int, rails: int, gpus: int) -> int:
    # Assumed: neighbouring rails are planes of one adapter (OCI's B300: 16 ports, eight GPUs), and adapters have the order of their GPUs. Those of GB300 have not.
    return min(rail * gpus // rails, gpus - 1) if 0 < gpus < rails else rail


def _wrong(owner: str, path: str, message: str) -> GatesInvalidError:
    hint = "write {name: mlx5_0, rail: 0, rate_gbps: 400} in the profile's hardware.yml"
    return GatesInvalidError(detail=f"{owner}: {path}: {message}", hint=hint, problems=[Problem(path, message)])
