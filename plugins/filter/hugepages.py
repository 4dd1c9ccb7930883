"""Computations of the role hugepages, as pure functions."""

from __future__ import annotations

from typing import Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.grub import parse_menu, unattended
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.kernel_cmdline import kernel_words
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.mount_unit import unit_name

_KEYS = ("default_hugepagesz", "hugepagesz", "hugepages")


def words(pages: list[dict[str, Any]], on_cmdline: bool, default_size: str) -> list[str]:
    """The parameters for the command line: the total of each size of which there are pages; the kernel spreads it over the nodes.

    Args:
        pages: rows of hugepages_pages: `size`, `count`.
        on_cmdline: whether pages are reserved on the command line.
        default_size: the default page size such as 1G; empty for the kernel's own.
    """
    result = [f"default_hugepagesz={default_size}"] if default_size else []
    for size in sorted({p["size"] for p in pages if int(p["count"])}) if on_cmdline else ():
        result += [f"hugepagesz={size}", f"hugepages={sum(int(p['count']) for p in pages if p['size'] == size)}"]
    return result


def own_words(cmdline: str) -> list[str]:
    """The parameters of a command line that belong to this role; their order matters.

    Args:
        cmdline: a kernel command line.
    """
    return [word for word in kernel_words(cmdline) if word.partition("=")[0] in _KEYS]


def boot_differences(text: str, declared: list[str]) -> list[str]:
    """How the normal boot entries differ from the declared words; `text` is grub.cfg or the output of `grubby --info=ALL`.

    Args:
        text: grub.cfg, or the output of `grubby --info=ALL`.
        declared: the declared words of this role, in order.
    """
    entries = unattended(parse_menu(text))
    if not entries:
        return ["the boot menu has no entry that starts a kernel"]
    found = {" ".join(own_words(entry.args)) for entry in entries} - {" ".join(declared)}
    return [f"expected {' '.join(declared)}, found {other or 'none'}" for other in sorted(found)]


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {
            "hugepages_boot_differences": boot_differences,
            "hugepages_own_words": own_words,
            "hugepages_unit_name": unit_name,
            "hugepages_words": words,
        }
