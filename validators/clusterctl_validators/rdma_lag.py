"""Two ports of an adapter as one RDMA device (RoCE LAG, `mlx5_bond_0`): the members of the bond that the device stands for.

The device is down only when all ports are (openucx/ucx pull 5401), and its rate is that of one of them (deepseek-ai/DeepEP pull 671: 200 Gb/s of 400, of which 372
were measured). Files: Documentation/networking/bonding.rst, sysfs-class-net of Linux.
"""

from typing import List, NamedTuple, Tuple

from clusterctl_validators.pcie import slot_of
from clusterctl_validators.probe import Probe
from clusterctl_validators.rail_interface import interface_of
from clusterctl_validators.rdma_sysfs import ROOT

_NET = "/sys/class/net/"


class Member(NamedTuple):
    """A port of a bond: its interface, the PCI address of its function, whether its link is up."""

    interface: str
    address: str
    up: bool


def members(probe: Probe, device: str) -> Tuple[Member, ...]:
    """The ports of a device in a bond; none where there is no bond of several. A port with an RDMA device of its own does not belong to this one."""
    own = "{}/{}/device".format(ROOT, device)
    bonded = (probe.read("{}{}/master/bonding/slaves".format(_NET, interface_of(probe, device))) or "").split()
    found: List[Member] = []
    for name in bonded:
        function = _NET + name + "/device"
        devices = [path.rpartition("/")[2] for path in probe.glob(function + "/infiniband/*")]
        address = slot_of(probe, function)
        if devices in ([], [device]) and _card(address) == _card(slot_of(probe, own)):
            found.append(Member(name, address, probe.read(_NET + name + "/operstate") == "up"))
    return tuple(found) if len(found) > 1 else ()


def _card(address: str) -> str:
    """An address without its function."""
    return address.rpartition(".")[0]
