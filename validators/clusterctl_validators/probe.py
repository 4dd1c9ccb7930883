"""Cached reads of a node, shared by all its checks: one `dpkg-query`, one `nvidia-smi -q -x` per run."""

import re
from typing import Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

from clusterctl_tools import driver_container, kernel_cmdline
from clusterctl_tools.package_list import (
    DPKG_LIST,
    RPM_LIST,
    VERSIONLOCK,
    VERSIONLOCK_DNF5,
    Package,
    parse_dnf5_locks,
    parse_dpkg,
    parse_rpm,
)
from clusterctl_tools.systemctl import Unit, UnreadableUnitsError, parse_units, states_argv
from clusterctl_validators.facts import Mount, parse_mounts
from clusterctl_validators.sources import CommandResult, LocalSource, ProbeError, Source

__all__ = ["CommandResult", "Mount", "Package", "Probe", "ProbeError", "Unit"]

T = TypeVar("T")
_NVIDIA_SMI = "nvidia-smi"


class Probe:
    """The state of the node; each command, file and pattern is read once per run.

    `run` never raises. Everything else raises ProbeError if the node gives no answer, which makes the check could_not_run.
    """

    def __init__(self, source: Optional[Source] = None) -> None:
        self._source = source or LocalSource()
        self._commands: Dict[Tuple[str, ...], CommandResult] = {}
        self._files: Dict[str, Optional[str]] = {}
        self._globs: Dict[str, List[str]] = {}
        self._once: Dict[str, object] = {}

    def run(self, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        """Run a command: no shell, LANG=C, own process group, killed after `timeout_s`."""
        key = tuple(argv)
        if key not in self._commands:
            result = self._source.run(argv, timeout_s)
            if result.rc is None and argv[0] == _NVIDIA_SMI and self.glob(driver_container.program(_NVIDIA_SMI)):
                result = self._source.run(driver_container.argv_inside(argv), timeout_s)
            self._commands[key] = result
        return self._commands[key]

    def output(self, argv: Sequence[str]) -> str:
        """What a command prints that must succeed."""
        result = self.run(argv)
        if result.error or result.rc != 0:
            reason = result.error or re.sub(r"\s+", " ", result.stderr.strip()) or "exit status {}".format(result.rc)
            raise ProbeError("{}: {}".format(argv[0], reason))
        return result.stdout

    def read(self, path: str) -> Optional[str]:
        """The stripped text of a file; None if it is absent."""
        if path not in self._files:
            text = self._source.read(path)
            self._files[path] = None if text is None else text.strip()
        return self._files[path]

    def glob(self, pattern: str) -> List[str]:
        """The existing paths that match, sorted."""
        if pattern not in self._globs:
            self._globs[pattern] = self._source.glob(pattern)
        return list(self._globs[pattern])

    def owner_and_mode(self, path: str) -> Optional[Tuple[str, str]]:
        """As `stat -c '%U %a'` prints them, e.g. `root`, `644`; None if there is no such file."""
        return self._source.owner_and_mode(path)

    def nvme_smart_log(self, controller: str) -> bytes:
        """The SMART log of `nvme0`. Raises NoSmartLogError and UnreadableSmartLogError."""
        return self._source.nvme_smart_log(controller)

    def packages(self) -> Dict[str, Package]:
        """Every package known to the package manager, by name; check `.installed`: dpkg also lists removed ones."""
        return self._get("packages", self._packages)

    def are_of_rpm(self) -> bool:
        """Whether these are packages of rpm. Neither program nor folder shows it: EL may have dpkg (EPEL), Debian and Ubuntu may have dnf and /etc/dnf."""
        return self._get("are_of_rpm", lambda: not self._of_dpkg())

    def cmdline(self) -> Dict[str, List[Optional[str]]]:
        """The running kernel's parameters, in order; None for one without a value."""
        return self._get("cmdline", lambda: kernel_cmdline.parse(self._need("/proc/cmdline")))

    def mounts(self) -> List[Mount]:
        """What is mounted now, in the order of mounting."""
        return self._get("mounts", lambda: parse_mounts(self._need("/proc/self/mounts")))

    def units(self, names: Sequence[str]) -> Dict[str, Unit]:
        """The state of systemd units by name; an unknown unit has `load_state` not-found."""
        if not names:
            return {}
        try:
            return parse_units(names, self.output(states_argv(names)))
        except UnreadableUnitsError as e:
            raise ProbeError(str(e)) from e

    def _packages(self) -> Dict[str, Package]:
        listed = self._of_dpkg()
        if listed:
            return parse_dpkg(listed)
        text = self.output(RPM_LIST)
        try:
            locks = parse_dnf5_locks(self.read(VERSIONLOCK_DNF5) or "") if self.read(VERSIONLOCK_DNF5) else ()
        except ValueError as e:
            raise ProbeError("{}: {}".format(VERSIONLOCK_DNF5, e)) from e
        return parse_rpm(text, self.read(VERSIONLOCK) or "", locks)

    def _of_dpkg(self) -> str:
        """The list of dpkg; empty without dpkg, and where it has no packages, because those of the node are of rpm."""
        result = self.run(DPKG_LIST)
        return result.stdout if not result.error and result.rc == 0 else ""

    def _need(self, path: str) -> str:
        text = self.read(path)
        if text is None:
            raise ProbeError("{} is absent".format(path))
        return text

    def _get(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._once:
            self._once[name] = make()
        return self._once[name]  # type: ignore[return-value]
