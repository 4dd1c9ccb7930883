"""Huge pages of the simulated machine. Requests at boot or by writes to kernel files are met as far as memory allows."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cmdline import parse_cmdline

_UNITS_KIB = {"K": 1, "M": 1024, "G": 1048576}
SIZES_KIB = (2048, 1048576)
# Linux, Documentation/arch/arm64/hugetlbpage.rst; the default is what one entry of the page middle directory maps.
_SIZES_64K_KIB = (524288, 2048, 16777216)


@dataclass
class HugePages:
    """Numbers of allocated pages.

    Attributes:
        nodes: number of NUMA nodes.
        node_kib: memory of each NUMA node that huge pages may use.
        pages: (NUMA node, page size in KiB) -> number of pages.
        default_kib: default page size.
        sizes_kib: the sizes that the kernel has, its default first.
    """

    nodes: int
    node_kib: int
    pages: dict[tuple[int, int], int] = field(default_factory=dict)
    default_kib: int = 0
    sizes_kib: tuple[int, ...] = SIZES_KIB

    def __post_init__(self) -> None:
        self.default_kib = self.default_kib or self.sizes_kib[0]
        for node in range(self.nodes):
            for size in self.sizes_kib:
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


def pages_from_cmdline(cmdline: str, nodes: int, node_kib: int, release: str = "") -> HugePages:
    """The pages after a boot of the kernel `release` with this command line: `hugepagesz=`, `hugepages=N` or `0:N,1:N`, `default_hugepagesz=`."""
    result = HugePages(nodes, node_kib, sizes_kib=_SIZES_64K_KIB if release.endswith("64k") else SIZES_KIB)
    size = result.default_kib
    for name, value in parse_cmdline(cmdline):
        if name in ("hugepagesz", "default_hugepagesz"):
            given = _kib(value or "")
            size = given if given in result.sizes_kib else 0
            if size and name == "default_hugepagesz":
                result.default_kib = size
        elif name == "hugepages" and value and size:  # the kernel ignores the pages of a size that it does not have
            _request_pages(result, size, value)
    return result


def _kib(size: str) -> int:
    """0 for what is not a size."""
    number, unit = size[:-1], size[-1:].upper()
    return int(number) * _UNITS_KIB[unit] if number.isdigit() and unit in _UNITS_KIB else 0


def _request_pages(pages: HugePages, size_kib: int, value: str) -> None:
    if value.isdigit():
        pages.set_total(size_kib, int(value))
        return
    for part in value.split(","):
        node, _, count = part.partition(":")
        if node.isdigit() and count.isdigit() and int(node) < pages.nodes:
            pages.set_node(int(node), size_kib, int(count))
