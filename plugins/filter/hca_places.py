"""Whether the declared HCAs are where they are declared: at a PCI address, or behind the PCIe switch of a GPU.

The kernel numbers adapters in the order in which it finds them, so a name alone is not a place: on DGX H100, mlx5_1, 2, 7 and 8 carry management and
storage (DGX H100 user guide, network modules), and behind a dead adapter every name moves up by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_NETWORK_CLASS = "0x02"
_GPU_CLASSES = ("0x0300", "0x0302")
_NVIDIA = "0x10de"
_RDMA = "rdma"
# A second device of an adapter, for subnet managers of XDR fabrics (rdma-dev.8).
_SMI = "smi"


class Place(NamedTuple):
    """A PCI function. `root_port`: the first function on its path; functions that share it are behind one PCIe switch."""

    address: str
    root_port: str


class Places(NamedTuple):
    """What is where: network functions and GPUs by address, RDMA devices by name."""

    adapters: Mapping[str, Place]
    gpus: Sequence[Place]
    names: Mapping[str, Place]


def places(text: str) -> Places:
    """Parse what roles/shared/tasks/hca_places.yml reads: `VENDOR CLASS PATH` of PCI functions and `rdma NAME PATH` of RDMA devices."""
    adapters: dict[str, Place] = {}
    gpus: list[Place] = []
    names: dict[str, Place] = {}
    for line in text.splitlines():
        first, second, path = line.split(maxsplit=2)
        place = _place(path)
        if first == _RDMA:
            names |= {} if second.startswith(_SMI) else {second: place}
        elif second.startswith(_NETWORK_CLASS):
            adapters[place.address] = place
        elif first == _NVIDIA and second.startswith(_GPU_CLASSES):
            gpus.append(place)
    return Places(adapters, sorted(gpus), names)


def _place(path: str) -> Place:
    functions = [part for part in path.split("/") if part.count(":") == 2]  # noqa: PLR2004 domain, bus and device
    return Place(functions[-1], functions[0]) if functions else Place(path.rpartition("/")[2], "")


def misplaced(hcas: Sequence[Mapping[str, Any]], text: str) -> list[str]:
    """One line for each declared HCA that is not in its place.

    Args:
        hcas: rows of hardware_hcas. `pci` decides; without it, `gpu`: the adapter must be behind the PCIe switch of this GPU. A row with neither has no
            declared place.
        text: what roles/shared/tasks/hca_places.yml reads on the node.
    """
    found = places(text)
    adapters = {hca["name"]: hca for hca in reversed(hcas)}  # the first of its rows, each of which is a port
    return [
        line for hca in reversed(adapters.values()) for line in (_at_address(hca, found) if hca.get("pci") else _beside_gpu(hca, found))
    ]


def label(hca: Mapping[str, Any]) -> str:
    """`mlx5_r3 (rail 3, slot OSFP4P1)`."""
    more = [f"{key} {hca[key]}" for key in ("rail", "slot") if hca.get(key) not in (None, "")]
    return str(hca["name"]) + (f" ({', '.join(more)})" if more else "")


def _at_address(hca: Mapping[str, Any], found: Places) -> Iterator[str]:
    address, name = hca["pci"], hca["name"]
    if address not in found.adapters:
        yield f"{label(hca)}: no network adapter at {address}; there are {_listed(found, found.adapters)}"
    elif name in found.names and found.names[name].address != address:
        yield f"{label(hca)}: declared at {address}, but the device of this name is at {found.names[name].address}"


def _beside_gpu(hca: Mapping[str, Any], found: Places) -> Iterator[str]:
    gpu = hca.get("gpu")
    if gpu is None or gpu >= len(found.gpus) or not found.gpus[gpu].root_port:
        return
    beside = found.gpus[gpu]
    near = [a for a, place in found.adapters.items() if place.root_port == beside.root_port]
    switch = f"the PCIe switch of GPU {gpu} ({beside.address})"
    named = found.names.get(hca["name"])
    if not near:
        yield f"{label(hca)}: no network adapter is behind {switch}"
    elif named and named.address not in near:
        yield (
            f"{label(hca)}: is {named.address}, which is not behind {switch}; {_listed(found, near)} is: the order of the adapters differs from the"
            " declared one, so declare `pci` and a name of its own for each in hardware_hcas"
        )


def _listed(found: Places, addresses: Sequence[str] | Mapping[str, Place]) -> str:
    names = {place.address: name for name, place in found.names.items()}
    return ", ".join(f"{a} ({names[a]})" if a in names else a for a in sorted(addresses)) or "none"


class FilterModule:
    """The filters of the shared tasks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"hca_misplaced": misplaced}
