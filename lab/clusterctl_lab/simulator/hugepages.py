"""Huge pages of the simulated machine. Requests at boot or by writes to kernel files are met as far as memory allows."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cmdline import parse_cmdline

SIZES_KIB = {"2M": 2048, "1G": 1048576, "2048K": 2048, "1048576K": 1048576}
DEFAULT_KIB = 2048


@dataclass
class HugePages:
    """Numbers of allocated pages.

    Attributes:
        nodes: number of NUMA nodes.
        node_kib: memory of each NUMA node that huge pages may use.
        pages: (NUMA node, page size in KiB) -> number of pages.
        default_kib: default page size.
    """

    nodes: int
    node_kib: int
    pages: dict[tuple[int, int], int] = field(default_factory=dict)
    default_kib: int = DEFAULT_KIB

    def __post_init__(self) -> None:
        for node in range(self.nodes):
            for size in (2048, 1048576):
                self.pages.setdefault((node, size), 0)

    def total(self, size_kib: int) -> int:
        """The number of pages of a size over all NUMA nodes."""
        return sum(n for (_, size), n in self.pages.items() if size == size_kib)

    def set_node(self, node: int, size_kib: int, requested: int) -> int:
        """Request a number of pages on one NUMA node. Returns the number allocated, which may be lower."""
        used = sum(n * size for (at, size), n in self.pages.items() if at == node and size != size_kib)
        self.pages[node, size_kib] = max(0, min(requested, (self.node_kib - used) // size_kib))
        return self.pages[node, size_kib]

    def set_total(self, size_kib: int, requested: int) -> int:
        """Request pages spread evenly over the NUMA nodes, as a write to vm.nr_hugepages does. Returns the number allocated."""
        share, rest = divmod(max(0, requested), self.nodes)
        for node in range(self.nodes):
            self.set_node(node, size_kib, share + (1 if node < rest else 0))
        return self.total(size_kib)


def pages_from_cmdline(cmdline: str, nodes: int, node_kib: int) -> HugePages:
    """The pages after a boot with this command line: `hugepagesz=`, `hugepages=N` or `0:N,1:N`, `default_hugepagesz=`."""
    result = HugePages(nodes, node_kib)
    size = result.default_kib
    for name, value in parse_cmdline(cmdline):
        if name in ("hugepagesz", "default_hugepagesz") and value and value.upper() in SIZES_KIB:
            size = SIZES_KIB[value.upper()]
            if name == "default_hugepagesz":
                result.default_kib = size
        elif name == "hugepages" and value:
            _request_pages(result, size, value)
    return result


def _request_pages(pages: HugePages, size_kib: int, value: str) -> None:
    if value.isdigit():
        pages.set_total(size_kib, int(value))
        return
    for part in value.split(","):
        node, _, count = part.partition(":")
        if node.isdigit() and count.isdigit() and int(node) < pages.nodes:
            pages.set_node(int(node), size_kib, int(count))
