"""Contradictions in the declared huge pages, as pure functions.

The role checks them before it changes a node, `clusterctl profile check` without access to a node.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Problem = tuple[str, str]

_PATH = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+")
_MODE = re.compile(r"[0-7]{3,4}")
_PAGE_MIB = {"2M": 2, "32M": 32, "512M": 512, "1G": 1024, "16G": 16384}
# Linux, Documentation/arch/arm64/hugetlbpage.rst and Documentation/admin-guide/mm/hugetlbpage.rst.
_SIZES_X86 = ("2M", "1G")
_SIZES_4K = ("2M", "32M", "1G")
_SIZES_64K = ("2M", "512M", "16G")
# What x86-64 maps directly with four levels of page tables (Linux, Documentation/arch/x86/x86_64/mm.rst), so no node of any profile has more.
_MOST_MIB = 64 * 1024 * 1024


def contradictions(variables: Mapping[str, Any]) -> list[Problem]:
    """Every contradiction as (variable, text). `variables`: those of hugepages and, if the node has the roles, of hardware and kernel."""
    return [*_pages(variables), *_mounts(variables["hugepages_mounts"]), *_sizes(variables)]


def _sizes(v: Mapping[str, Any]) -> Iterator[Problem]:
    """Sizes that the declared kernel does not have."""
    release, is_arm = str(v.get("kernel_release") or ""), v.get("hardware_architecture") == "aarch64"
    if release.endswith("64k"):
        kernel, sizes = "a kernel with 64 KiB pages", _SIZES_64K
    elif is_arm and release:
        kernel, sizes = "an arm64 kernel with 4 KiB pages", _SIZES_4K
    elif v.get("hardware_architecture") == "x86_64":
        kernel, sizes = "an x86-64 kernel", _SIZES_X86
    else:
        return
    declared = [(f"{name}[{i}].size", row["size"]) for name in ("hugepages_pages", "hugepages_mounts") for i, row in enumerate(v[name])]
    for where, size in [*declared, ("hugepages_default_size", v.get("hugepages_default_size"))]:
        if size and size not in sizes:
            yield where, f"{kernel} has no huge pages of {size}, only {', '.join(sizes)}"


def _pages(v: Mapping[str, Any]) -> Iterator[Problem]:
    seen = set()
    total_mib = 0
    for i, page in enumerate(v["hugepages_pages"]):
        where, count, node = f"hugepages_pages[{i}]", int(page["count"]), int(page["node"])
        if count < 0:
            yield f"{where}.count", f"{count} is below 0"
        elif count * _PAGE_MIB[page["size"]] > _MOST_MIB:
            yield f"{where}.count", f"{count} pages of {page['size']} are more than the 64 TiB that a machine can have"
        else:
            total_mib += count * _PAGE_MIB[page["size"]]
        if node < 0:
            yield f"{where}.node", f"{node} is below 0"
        if (page["size"], node) in seen:
            yield where, f"{page['size']} on node {node} is declared twice"
        seen.add((page["size"], node))
    memory_gib = float(v.get("hardware_memory_min_gib") or 0)
    if memory_gib and total_mib > memory_gib * 1024:
        yield "hugepages_pages", f"{total_mib / 1024:g} GiB in all, but hardware_memory_min_gib is {memory_gib:g}"


def _mounts(mounts: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    paths = [mount["path"] for mount in mounts]
    for i, mount in enumerate(mounts):
        where = f"hugepages_mounts[{i}]"
        if not _PATH.fullmatch(mount["path"]):
            yield f"{where}.path", f"{mount['path']!r} is not a plain absolute path"
        if paths.index(mount["path"]) != i:
            yield f"{where}.path", f"{mount['path']} is declared twice"
        if not _MODE.fullmatch(str(mount.get("mode", "1770"))):
            yield f"{where}.mode", f"{mount['mode']!r} is not octal"


def problem_lines(variables: Mapping[str, Any]) -> list[str]:
    """The contradictions as lines, for the role.

    Args:
        variables: hugepages_pages and hugepages_mounts by name.
    """
    return [f"{where}: {what}" for where, what in contradictions(variables)]


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"hugepages_problems": problem_lines}
