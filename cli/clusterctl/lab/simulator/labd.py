"""The supervisor of the simulated machine: kernel log, kernel files that behave, faults, answers to other nodes."""

from __future__ import annotations

import os
import select
import socket

from . import fault_effects, peers, state
from .inotify import Watcher
from .kernel_log import KernelLog
from .memory_files import MemoryFiles

SEED = "/var/lib/clusterctl-lab"
_PUMP_S = 0.02


def main(_argv: list[str], _version: str = "") -> int:
    """Run until the machine stops."""
    log = KernelLog()
    node, cmdline = os.uname().nodename, state.read("/proc/cmdline")
    memory = MemoryFiles(cmdline)
    watcher = Watcher()
    for path in memory.watched():
        watcher.watch(path)
    watcher.watch(SEED)
    _greet(cmdline, log)
    known = state.read_faults()
    with socket.create_server(("", peers.PORT), reuse_port=False) as server:
        while True:
            ready, _, _ = select.select([watcher.fileno(), server.fileno()], [], [], _PUMP_S if log.pump() else None)
            for path in watcher.changed() if watcher.fileno() in ready else []:
                if path != SEED:
                    memory.written(path)
                    continue
                now = state.read_faults()
                if now != known:
                    for fault in [f for f in now.active if f not in known.active]:
                        fault_effects.announce(fault, node, log)
                    fault_effects.apply(now)
                    known = now
            if server.fileno() in ready:
                _answer(server)


def _greet(cmdline: str, log: KernelLog) -> None:
    """The first lines of a kernel log: a reader takes an empty log for a broken one."""
    log.log(f"Linux version {os.uname().release} (simulated)", "notice")
    log.log(f"Command line: {cmdline}")
    if state.driver_version():
        log.log(f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {state.driver_version()}  Release Build", "notice")


def _answer(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        client.settimeout(2)
        try:
            asked = client.recv(64).strip()
            if asked == b"describe":
                client.sendall(peers.describe().to_json().encode() + b"\n")
        except OSError:  # a peer that went away costs nobody else his answer
            return
