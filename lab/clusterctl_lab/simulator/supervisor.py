"""The supervisor of the simulated machine: writes the kernel log, updates kernel files, applies faults, answers other nodes."""

from __future__ import annotations

import os
import select
import socket

from . import ethernet_rails, fault_effects, link_messages, link_type, load, peers, state, uname
from .file_watcher import POLL_S, FileWatcher
from .foreign_programs import ForeignPrograms
from .kernel_log import KMSG, KernelLog
from .memory_files import MemoryFiles

SEED = "/var/lib/clusterctl-lab"
_PUMP_S = 0.02


def main(_argv: list[str], _version: str = "") -> int:
    """Run until the machine stops. Removes the kernel log's pipe at the end, because its readers would block."""
    try:
        _serve()
    finally:
        os.unlink(KMSG)
    return 0


def _serve() -> None:
    log = KernelLog()
    memory = MemoryFiles(state.read("/proc/cmdline"), release=uname.release())
    watcher = FileWatcher()
    os.makedirs(load.FOLDER, exist_ok=True)
    for path in [*memory.watched(), SEED, load.FOLDER]:
        watcher.watch(path)
    _log_first_lines(log)
    faults = state.read_faults()
    foreign = ForeignPrograms()
    foreign.update(faults)
    raised: list[state.Fault] = []
    with socket.create_server(("", peers.PORT)) as server:
        inputs = [server.fileno()] + ([] if watcher.fd is None else [watcher.fd])
        addresses = ethernet_rails.address_event_socket() if link_type.is_ethernet() else None
        inputs += [addresses.fileno()] if addresses else []
        while True:
            pause = _PUMP_S if log.pump() else POLL_S if watcher.fd is None else None
            ready, _, _ = select.select(inputs, [], [], pause)
            for path in watcher.changed():
                if path == SEED:
                    faults = _apply_new_faults(faults, log)
                    foreign.update(faults)
                    raised = load.raised_faults(faults)
                    load.keep_raised(raised)
                elif path == load.FOLDER:
                    before, raised = raised, load.raised_faults(faults)
                    fault_effects.raise_load_errors([f for f in raised if f not in before], os.uname().nodename, log)
                else:
                    memory.written(path)
            if server.fileno() in ready:
                _answer(server)
            if addresses and addresses.fileno() in ready:
                addresses.recv(65536)
                ethernet_rails.refresh_gids()


def _apply_new_faults(before: state.Faults, log: KernelLog) -> state.Faults:
    """Apply the faults in the node's file. Returns the active faults."""
    now = state.read_faults()
    if now != before:
        for fault in [f for f in now.active if f not in before.active]:
            fault_effects.log_fault(fault, os.uname().nodename, log)
        fault_effects.apply_faults(now)
    return now


def _log_first_lines(log: KernelLog) -> None:
    """Write the first lines of a boot: an empty kernel log is not a healthy one."""
    log.log(f"Linux version {uname.release()} (simulated)", "notice")
    log.log(f"Command line: {state.read('/proc/cmdline')}")
    if state.driver_version():
        log.log(f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {state.driver_version()}  Release Build", "notice")
    link_messages.log_hcas(log, state.read_faults())


def _answer(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        client.settimeout(2)
        try:
            request = client.recv(64).strip()
            if request == b"describe":
                client.sendall(peers.describe_self().to_json().encode() + b"\n")
        except OSError:  # a peer that disconnects must not affect others
            return
