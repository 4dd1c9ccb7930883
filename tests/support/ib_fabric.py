"""A small InfiniBand fabric: ibsim with a real opensm and the real infiniband-diags. Two leaves with four hosts each, one spine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from clusterctl_validators.sources import CommandResult, LocalSource
from support.unpacked_tools import environment, which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HOSTS_PER_LEAF = 4
LEAVES = 2
_TOOLS = ("ibsim", "ibsim-run", "opensm", "iblinkinfo", "sminfo", "perfquery")
_DEADLINE_S = 30
# The simulator's library creates the sysfs files of a process at first access, and removes them when the process ends.
_COPY_SYSFS = "import os, shutil, sys; os.listdir('/sys/class/infiniband'); shutil.copytree(f'sys-{os.getpid()}/sys', sys.argv[1])"


def missing_tools() -> list[str]:
    """The missing programs of the Debian packages ibsim-utils, opensm and infiniband-diags."""
    return [tool for tool in _TOOLS if which(tool) is None]


def netlist(degraded: Iterable[int] = ()) -> str:
    """A netlist for ibsim; the links of the `degraded` hosts (counted from 1) have one lane instead of four."""
    lines = [f'Switch\t{LEAVES} "spine01"']
    lines += [f'[{leaf}]\t"leaf{leaf:02d}"[{HOSTS_PER_LEAF + 1}]\t\t# "leaf" lid 1 4xHDR' for leaf in range(1, LEAVES + 1)]
    hosts = []
    for leaf in range(1, LEAVES + 1):
        lines += ["", f'Switch\t{HOSTS_PER_LEAF + 1} "leaf{leaf:02d}"']
        for port in range(1, HOSTS_PER_LEAF + 1):
            host = (leaf - 1) * HOSTS_PER_LEAF + port
            speed = "1xHDR" if host in degraded else "4xHDR"
            lines.append(f'[{port}]\t"node{host:03d}"[1]\t\t# "node" lid 1 {speed}')
            hosts += ["", f'Hca\t1 "node{host:03d}"', f'[1]\t"leaf{leaf:02d}"[{port}]\t\t# lid 1 lmc 0 "leaf" lid 1 {speed}']
        lines.append(f'[{HOSTS_PER_LEAF + 1}]\t"spine01"[{leaf}]\t\t# "spine" lid 1 4xHDR')
    return "\n".join(lines + hosts) + "\n"


class Fabric:
    """A running fabric in a folder; a context manager. As root it uses its own network namespace, because ibsim's sockets have no path.

    `text`: another netlist; `manager`: the host of it on which the subnet manager runs; `settings`: further lines of opensm.conf.
    """

    def __init__(self, folder: Path, degraded: Iterable[int] = (), *, text: str = "", manager: str = "node001", settings: str = "") -> None:
        self.folder = folder
        self._netlist = text or netlist(degraded)
        self._manager = manager
        self._settings = settings
        self._processes: list[subprocess.Popen[bytes]] = []
        self._namespace: list[str] = []

    def __enter__(self) -> Self:
        (self.folder / "fabric.net").write_text(self._netlist)
        console = self.folder / "console"
        os.mkfifo(console)
        # Kept open, so that the simulator never reads end of file.
        self._console = os.open(console, os.O_RDWR)
        if os.geteuid() == 0:
            holder = self._start(["unshare", "--net", "sleep", "infinity"])
            self._wait(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink(), "a network namespace")
            self._namespace = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        self._start([*self._namespace, "ibsim", "-s", "fabric.net"], stdin=self._console)
        self._wait(lambda: "Network simulator ready" in self._log("ibsim"), "ibsim")
        (self.folder / "opensm.conf").write_text(
            f"sweep_interval 1\nforce_log_flush TRUE\nlog_file {self.folder}/opensm.log\n{self._settings}"
        )
        self._start([*self._namespace, "ibsim-run", "opensm", "-F", "opensm.conf", "-f", "opensm.log"])
        self._wait(lambda: (self.folder / "opensm.log").exists() and "SUBNET UP" in (self.folder / "opensm.log").read_text(), "opensm")
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):  # opensm first, because it does not end without its simulator
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)
        os.close(self._console)

    def console_command(self, line: str) -> None:
        """Send a command to the simulator's console, e.g. `Unlink "leaf01"[1]`."""
        os.write(self._console, f"{line}\n".encode())

    def move_cable(self, host: int, leaf: int, port: int) -> None:
        """Plug the cable of a host into another leaf port, and wait until the host sees it."""
        self.console_command(f'Unlink "node{host:03d}"[1]')
        self.console_command(f'Unlink "leaf{leaf:02d}"[{port}]')
        self.console_command(f'Link "node{host:03d}"[1] "leaf{leaf:02d}"[{port}]')
        link = f'{port}[  ] "leaf{leaf:02d}"'
        self._wait(lambda: link in self.run(host, ["iblinkinfo", "-l", "-D", "0"]).stdout, "the moved cable")

    def run(self, host: int | str, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        """Run a tool as on that host (a name, or the number in it), in a new process, because the simulator's library serves one client per process."""
        done = subprocess.run(
            [*self._namespace, "ibsim-run", *argv],
            cwd=self.folder,
            env=self._env(host if isinstance(host, str) else f"node{host:03d}"),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)

    def sysfs(self, host: int, root: Path) -> Path:
        """Copy /sys/class/infiniband of a host below `root`, and add files that the simulator lacks."""
        done = self.run(host, [sys.executable, "-c", _COPY_SYSFS, str(root / "sys")])
        assert done.rc == 0, done.stderr
        port = root / "sys/class/infiniband/ibsim0/ports/1"
        (port / "link_layer").write_text("InfiniBand\n")
        (port / "pkeys").mkdir(exist_ok=True)
        (port / "pkeys/0").write_text("0xffff\n")
        return root

    def _env(self, host: str) -> dict[str, str]:
        own = {"SIM_HOST": host, "OSM_CACHE_DIR": str(self.folder), "OSM_TMP_DIR": str(self.folder), "LANG": "C"}
        return environment() | own

    def _start(self, argv: list[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        with (self.folder / f"{argv[-1] if 'opensm' not in argv else 'opensm-out'}.log".replace("fabric.net", "ibsim")).open("wb") as log:
            process = subprocess.Popen(
                argv, cwd=self.folder, env=self._env(self._manager), stdin=stdin, stdout=log, stderr=subprocess.STDOUT
            )
        self._processes.append(process)
        return process

    def _log(self, name: str) -> str:
        file = self.folder / f"{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _DEADLINE_S
        while not done():
            if time.monotonic() > deadline:
                pytest.fail(f"{what} did not come up in {_DEADLINE_S} s: {self._log('ibsim')[-500:]}")
            time.sleep(0.05)


class FabricHost(LocalSource):
    """A host of the fabric for validators: files below `root`, tools connected to the simulator."""

    def __init__(self, fabric: Fabric, host: int, root: Path) -> None:
        super().__init__(str(root))
        self._fabric = fabric
        self._host = host

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        """Run a tool as on this host."""
        return self._fabric.run(self._host, argv, timeout_s)
