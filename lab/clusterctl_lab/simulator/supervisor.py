"""The supervisor of the simulated machine: kernel log, kernel files that behave, faults, answers to other nodes."""

from __future__ import annotations

import os
import select
import socket

from . import ethernet_rails, fault_effects, link_type, peers, state
from .file_watcher import POLL_S, FileWatcher
from .kernel_log import KMSG, KernelLog
from .memory_files import MemoryFiles

SEED = "/var/lib/clusterctl-lab"
_PUMP_S = 0.02


def main(_argv: list[str], _version: str = "") -> int:
    """Run until the machine stops. Without it, nobody may wait at the kernel log."""
    try:
        _serve()
    finally:
        os.unlink(KMSG)
    return 0


def _serve() -> None:
    log = KernelLog()
    memory = MemoryFiles(state.read("/proc/cmdline"))
    watcher = FileWatcher()
    for path in [*memory.watched(), SEED]:
        watcher.watch(path)
    _log_first_lines(log)
    known = state.read_faults()
    with socket.create_server(("", peers.PORT)) as server:
        inputs = [server.fileno()] + ([] if watcher.fd is None else [watcher.fd])
        addresses = ethernet_rails.address_event_socket() if link_type.is_ethernet() else None
        inputs += [addresses.fileno()] if addresses else []
        while True:
            pause = _PUMP_S if log.pump() else POLL_S if watcher.fd is None else None
            ready, _, _ = select.select(inputs, [], [], pause)
            for path in watcher.changed():
                if path == SEED:
                    known = _apply_new_faults(known, log)
                else:
                    memory.written(path)
            if server.fileno() in ready:
                _answer(server)
            if addresses and addresses.fileno() in ready:
                addresses.recv(65536)
                ethernet_rails.refresh_gids()


def _apply_new_faults(known: state.Faults, log: KernelLog) -> state.Faults:
    """Let new faults show; returns those that hold now."""
    now = state.read_faults()
    if now != known:
        for fault in [f for f in now.active if f not in known.active]:
            fault_effects.log_fault(fault, os.uname().nodename, log)
        fault_effects.apply_faults(now)
    return now


def _log_first_lines(log: KernelLog) -> None:
    """The first lines of a kernel log: a reader takes an empty log for a broken one."""
    log.log(f"Linux version {os.uname().release} (simulated)", "notice")
    log.log(f"Command line: {state.read('/proc/cmdline')}")
    if state.driver_version():
        log.log(f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {state.driver_version()}  Release Build", "notice")


def _answer(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        client.settimeout(2)
        try:
            asked = client.recv(64).strip()
            if asked == b"describe":
                client.sendall(peers.describe_self().to_json().encode() + b"\n")
        except OSError:  # a peer that went away costs nobody else his answer
            return
