"""Keeps the kernel's memory files consistent: a write to one of them updates all others, as far as memory allows."""

from __future__ import annotations

import os

from . import machine, sysfs_memory
from .hugepages import HugePages, pages_from_cmdline
from .state import RUN, read

_TOTALS = {"/proc/sys/vm/nr_hugepages": 0, "/proc/sys/vm/nr_hugepages_mempolicy": 0}


class MemoryFiles:
    """The files of huge pages and transparent huge pages. `root` is the parent of /sys and /proc, for tests."""

    def __init__(self, cmdline: str, root: str = "", release: str = "") -> None:
        self.root = root
        self.pages: HugePages = pages_from_cmdline(cmdline, machine.NUMA_NODES, machine.THIS.huge_kib_per_node, release)
        default = self.pages.default_kib
        of_sizes = {f"/sys/kernel/mm/hugepages/hugepages-{s}kB/nr_hugepages": s for s in self.pages.sizes_kib}
        self._totals = dict.fromkeys(_TOTALS, default) | of_sizes
        self._nodes = {
            f"/sys/devices/system/node/node{n}/hugepages/hugepages-{s}kB/nr_hugepages": (n, s)
            for n in range(machine.NUMA_NODES)
            for s in self.pages.sizes_kib
        }
        self._shown = {f"/sys/{name}": str(value) for name, value in sysfs_memory.page_files(self.pages).items()}
        self._choices = {f"/sys/{sysfs_memory.THP}/{name}": choices for name, choices in sysfs_memory.THP_CHOICES.items()}
        self._chosen = {path: _bracketed(self._read(path)) for path in self._choices}

    def watched(self) -> list[str]:
        """The files that must be watched for writes."""
        return [*self._totals, *self._nodes, *self._choices]

    def written(self, path: str) -> None:
        """Apply a write to `path` and update all files."""
        text = self._read(path)
        if path in self._choices:
            self._choose(path, text)
            return
        current = self.pages.total(self._totals[path]) if path in self._totals else self.pages.pages[self._nodes[path]]
        requested = int(text) if text.isdigit() else current
        if requested == current and text.isdigit():
            return
        if path in self._totals:
            self.pages.set_total(self._totals[path], requested)
        else:
            self.pages.set_node(*self._nodes[path], requested)
        self.refresh(path)

    def refresh(self, written: str = "") -> None:
        """Write the files whose value changed, and the file `written`.

        Unchanged files are not rewritten, because that could overwrite a write that has not been processed yet.
        """
        files = {f"/sys/{name}": str(value) for name, value in sysfs_memory.page_files(self.pages).items()}
        for path, value in files.items():
            if path == written or self._shown.get(path) != value:
                self._write(path, value)
        self._shown = files
        default = str(self.pages.total(self.pages.default_kib))
        for path in _TOTALS:
            self._write(path, default)
        self._write(f"{RUN}/proc/meminfo", sysfs_memory.meminfo(self.pages))

    def _choose(self, path: str, text: str) -> None:
        chosen = _bracketed(text) if "[" in text else text
        if chosen in self._choices[path]:
            self._chosen[path] = chosen
        self._write(path, sysfs_memory.bracket(self._chosen[path], self._choices[path]))

    def _read(self, path: str) -> str:
        return read(self.root + path)

    def _write(self, path: str, text: str) -> None:
        """Write in place, because the files are mount points, and only if the text differs, because each write triggers the watcher."""
        if self._read(path) == text.strip():
            return
        data = text.encode() + b"\n"
        fd = os.open(self.root + path, os.O_WRONLY)
        try:
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
        finally:
            os.close(fd)


def _bracketed(text: str) -> str:
    return text.partition("[")[2].partition("]")[0]
