"""A virtual machine with its own kernel: QEMU without KVM, reached over SSH on loopback with a known host key."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from support.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

MEMORY_MIB = 768
_BOOT_S = 300
_MACHINE = (
    *("qemu-system-x86_64", "-M", "pc", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "qemu64", "-smp", "2"),
    *("-nodefaults", "-display", "none", "-no-user-config", "-device", "virtio-rng-pci"),
    # Two NUMA nodes, because huge pages are declared per node.
    *("-m", str(2 * MEMORY_MIB)),
    *(
        w
        for n in (0, 1)
        for w in ("-object", f"memory-backend-ram,id=r{n},size={MEMORY_MIB}M", "-numa", f"node,nodeid={n},cpus={n},memdev=r{n}")
    ),
)


class VmError(Exception):
    """The machine ended, does not answer, or a script on it failed."""


@dataclass
class Vm:
    """A context manager.

    Attributes:
        disk: disk image that the machine writes to.
        format: format of the image, as QEMU names it.
        folder: gets console.log and known_hosts.
        key: private key for root.
        host_key: public host key as `type key`.
        direct: additional QEMU arguments: those that start a kernel without a boot loader, or another machine.
    """

    disk: Path
    folder: Path
    key: Path
    host_key: str
    format: str = "qcow2"
    direct: Sequence[str] = ()
    port: int = 0
    boot_s: float = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def console(self) -> Path:
        return self.folder / "console.log"

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {self.host_key}\n")
        # Only SSH from this machine reaches it; it has no outgoing network.
        network = (
            "-netdev",
            f"user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22",
            "-device",
            "virtio-net-pci,netdev=n0,romfile=",
        )
        disk = ("-drive", f"file={self.disk},format={self.format},if=none,id=d0,cache=unsafe", "-device", "virtio-blk-pci,drive=d0")
        began = time.monotonic()
        self.process = subprocess.Popen(
            [*_MACHINE, *network, *disk, "-serial", f"file:{self.console}", *self.direct], stdin=subprocess.DEVNULL
        )
        try:
            self.wait_for_ssh()
        except BaseException:
            self._kill()
            raise
        self.boot_s = time.monotonic() - began
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._kill()

    def power_off(self) -> None:
        """Shut the machine down, and wait until its disk is written."""
        assert self.process
        self.shell("systemctl poweroff", check=False)
        self.process.wait(timeout=120)

    def ssh_argv(self, *options: str) -> list[str]:
        known = ("-o", f"UserKnownHostsFile={self.known_hosts}", "-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes")
        return [
            "ssh",
            "-q",
            *known,
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "ConnectTimeout=10",
            "-i",
            str(self.key),
            "-p",
            str(self.port),
            *options,
        ]

    def shell(self, script: str, *, check: bool = True, timeout_s: float = 180) -> str:
        """Run a script as root. Returns its output.

        Raises:
            VmError: the script failed while `check` is set.
        """
        argv = [*self.ssh_argv(), "root@127.0.0.1", script]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL)
        if check and done.returncode:
            raise VmError(f"exit {done.returncode} of {script}\n{done.stdout}{done.stderr}")
        return done.stdout

    def get(self, path: str) -> bytes:
        """The contents of a file."""
        return subprocess.run([*self.ssh_argv(), "root@127.0.0.1", f"cat {path}"], check=True, capture_output=True, timeout=60).stdout

    def put(self, path: str, contents: bytes) -> None:
        """Replace a file."""
        subprocess.run([*self.ssh_argv(), "root@127.0.0.1", f"cat > {path}"], input=contents, check=True, timeout=60)

    def boot_id(self) -> str:
        return self.shell("cat /proc/sys/kernel/random/boot_id").strip()

    def wait_for_ssh(self) -> None:
        """Wait until the machine has booted.

        Raises:
            VmError: QEMU ended, or the machine did not answer in time.
        """
        assert self.process
        deadline = time.monotonic() + _BOOT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise VmError(f"QEMU ended with {self.process.returncode}; console: {self._console_end()}")
            try:
                if self.shell("systemctl is-system-running --wait", check=False, timeout_s=60).strip() in {"running", "degraded"}:
                    return
            except subprocess.TimeoutExpired:
                continue
            time.sleep(0.3)
        raise VmError(f"no SSH after {_BOOT_S} s; console: {self._console_end()}")

    def _console_end(self) -> str:
        return self.console.read_text(errors="replace")[-2000:] if self.console.exists() else "(nothing)"

    def _kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=30)
