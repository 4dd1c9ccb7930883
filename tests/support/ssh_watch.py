"""An SSH session to a node that stays open for as long as a run lasts: where it is cut, the node must have booted in between."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from support.lab_ssh import LabSsh

# A session over a dead path ends after three of these.
_ALIVE = ("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3", "-o", "ControlPath=none")
_SCRIPT = "while cat /proc/sys/kernel/random/boot_id; do sleep 0.5; done"


@dataclass(frozen=True)
class Cut:
    """A time without an answer: the boot before it, and the one after it; empty if the node never answered again."""

    before: str
    after: str
    silent_s: float

    @property
    def is_reboot(self) -> bool:
        return self.before != self.after != ""


@dataclass
class SshWatch:
    """Asks one node for its boot id twice a second, over one session; a context manager."""

    ssh: LabSsh
    node: str
    cuts: list[Cut] = field(default_factory=list)
    boots: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _process: subprocess.Popen[str] | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._process:
            self._process.kill()
        if self._thread:
            self._thread.join(30)

    def _watch(self) -> None:
        lost_at = time.monotonic()
        while not self._stop.is_set():
            program, *words = self.ssh.argv(self.node, _SCRIPT)
            with subprocess.Popen(
                [program, *_ALIVE, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
            ) as self._process:
                assert self._process.stdout
                for line in self._process.stdout:
                    self._answered(line.strip(), lost_at)
                    lost_at = 0.0
            lost_at = lost_at or time.monotonic()
            time.sleep(0.2)
        if lost_at and self.boots:
            self._open_cut(lost_at)

    def _answered(self, boot_id: str, lost_at: float) -> None:
        if self.boots and lost_at:
            self.cuts.append(Cut(self.boots[-1], boot_id, time.monotonic() - lost_at))
        if boot_id not in self.boots[-1:]:
            self.boots.append(boot_id)

    def _open_cut(self, lost_at: float) -> None:
        """The session was down when the watch ended; killing it is no cut."""
        silent_s = time.monotonic() - lost_at
        if silent_s > 1:
            self.cuts.append(Cut(self.boots[-1], "", silent_s))
