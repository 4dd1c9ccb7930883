"""lspci, lscpu and numactl read what the simulator makes: what each understands is compared with the files or the description of the machine.

A lab node has these real programs. They read other places than clusterctl does (configuration space instead of files, for example), so both must agree.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterctl_lab.simulator.hardware_kinds import KINDS
from cross_check.comparison import Comparison, ToolReport
from cross_check.same_output import machines, version
from support.unpacked_tools import which

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl_lab.simulator.hardware import Hardware
    from cross_check.world import World

LSPCI = ("lspci", "-D", "-n", "-vvv")
# The same facts from the files of sysfs, which validators read.
_FILES = r"""cd /sys/bus/pci/devices && for d in *; do
  group=$(readlink "$d/iommu_group" 2>/dev/null); cls=$(cat $d/class); rev=$(cat $d/revision)
  echo "$d class=$(echo $cls | cut -c3-6) id=$(cut -c3- $d/vendor):$(cut -c3- $d/device) rev=${rev#0x} numa=$(cat $d/numa_node) group=${group##*/} \
speed=$(cut -d' ' -f1 $d/current_link_speed) width=$(cat $d/current_link_width) max_speed=$(cut -d' ' -f1 $d/max_link_speed) max_width=$(cat $d/max_link_width) \
below=$(printf %02x $(cat $d/secondary_bus_number 2>/dev/null) 2>/dev/null)"
done"""
_FILES_COMMAND = ("sh", "-c", _FILES)


def lspci_facts(text: str) -> list[str]:
    """A line per function as `_FILES` prints it, from `lspci -D -n -vvv`."""
    return sorted(_lspci_line(block) for block in re.split(r"\n(?=\S)", text.strip()))


def _lspci_line(block: str) -> str:
    def first(pattern: str, default: str = "") -> str:
        found = re.search(pattern, block)
        return found[1] if found else default

    address, code, ids = block.split()[:3]
    parts = {
        "class": code.rstrip(":"),
        "id": ids,
        "rev": first(r"\(rev (\w+)\)", "00"),
        "numa": first(r"NUMA node: (\d+)"),
        "group": first(r"IOMMU group: (\d+)"),
        "speed": _one_decimal(first(r"LnkSta:\tSpeed ([\d.]+)GT/s")),
        "width": first(r"LnkSta:.*Width x(\d+)"),
        "max_speed": _one_decimal(first(r"LnkCap:.*Speed ([\d.]+)GT/s")),
        "max_width": first(r"LnkCap:.*Width x(\d+)"),
        "below": first(r"secondary=(\w+)", "00"),
    }
    return " ".join([address, *(f"{name}={value}" for name, value in parts.items())])


def _one_decimal(number: str) -> str:
    return f"{float(number):.1f}" if number else ""


def lscpu_facts(text: str) -> list[str]:
    """What the profiles declare of processors, from `lscpu`."""
    rows = dict(re.findall(r"^(.+?):\s+(.*)$", text, re.MULTILINE))
    names = ("CPU(s)", "Model name", "Socket(s)", "Core(s) per socket", "Thread(s) per core", "NUMA node(s)", "CPU max MHz", "CPU min MHz")
    return [f"{name}: {rows.get(name, 'absent')}" for name in names]


def _own_lscpu(kind: Hardware, _files: str) -> list[str]:
    least, most = kind.processor.khz
    values = (kind.sockets * kind.cores_per_socket * kind.threads_per_core, kind.processor.model, kind.sockets, kind.cores_per_socket)
    more = (kind.threads_per_core, kind.numa_nodes, f"{most / 1000:.4f}", f"{least / 1000:.4f}")
    return [f"{line.partition(':')[0]}: {value}" for line, value in zip(lscpu_facts(""), (*values, *more), strict=True)]


def numactl_facts(text: str) -> list[str]:
    """Nodes with the number of their CPUs and their memory, from `numactl --hardware`. The kernel keeps memory in KiB, numactl prints MiB."""
    cpus = {node: len(numbers.split()) for node, numbers in re.findall(r"^node (\d+) cpus: (.*)$", text, re.MULTILINE)}
    sizes = dict(re.findall(r"^node (\d+) size: (\d+) MB$", text, re.MULTILINE))
    return [f"node {node}: {count} CPUs, {sizes.get(node, 'no')} MiB" for node, count in cpus.items()]


def _own_numactl(kind: Hardware, _files: str) -> list[str]:
    each = kind.sockets * kind.cores_per_socket * kind.threads_per_core // kind.numa_nodes
    return [f"node {node}: {each} CPUs, {kind.memory_kib // kind.numa_nodes // 1024} MiB" for node in range(kind.numa_nodes)]


def _own_lspci(_kind: Hardware, files: str) -> list[str]:
    return sorted(files.splitlines())


_VIEWS: dict[str, tuple[tuple[str, ...], Callable[[str], list[str]], Callable[[Hardware, str], list[str]]]] = {
    "lspci": (LSPCI, lspci_facts, _own_lspci),
    "lscpu": (("lscpu",), lscpu_facts, _own_lscpu),
    "numactl": (("numactl", "--hardware"), numactl_facts, _own_numactl),
}


def _version(tool: str) -> str:
    """Numactl has no option for it."""
    return "of Debian" if tool == "numactl" else version([tool, "--version"])


TOOLS = tuple(_VIEWS)


def why_missing(tool: str) -> str:
    """What is absent to run it; empty if nothing is."""
    return "" if which(tool) else tool


def compare(tools: Sequence[str], worlds: Sequence[World] = ()) -> list[ToolReport]:
    """Let the tools read every machine with its adapters, or these."""
    found: dict[str, list[Comparison]] = {name: [] for name in tools}
    for world in worlds or [w for w in machines() if not w.prepare]:
        files, *answers = world.run([_FILES_COMMAND, *(_VIEWS[name][0] for name in tools)])
        for name, answer in zip(tools, answers, strict=True):
            argv, facts, own = _VIEWS[name]
            real = facts(answer.stdout) if answer.rc == 0 else [answer.text]
            simulated = own(KINDS[world.hardware], files.stdout)
            found[name].append(Comparison(name, world.name, " ".join(argv), "\n".join(real), "\n".join(simulated)))
    return [ToolReport(name, _version(name), rows) for name, rows in found.items()]
