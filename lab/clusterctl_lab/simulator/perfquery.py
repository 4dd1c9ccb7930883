"""perfquery: shows the counters of a port, or clears them (-R). Labels, order and widths of the fields: PortCounters of the InfiniBand specification, 16.1.3.5."""

from __future__ import annotations

import glob
import os
import sys

from .pseudo_files import write_files
from .state import read
from .sysfs_rdma import ROOT

# Label -> file below counters/ and bits of the field; a counter stays at its largest value.
_FIELDS = {
    "SymbolErrorCounter": ("symbol_error", 16),
    "LinkErrorRecoveryCounter": ("link_error_recovery", 8),
    "LinkDownedCounter": ("link_downed", 8),
    "PortRcvErrors": ("port_rcv_errors", 16),
    "PortRcvRemotePhysicalErrors": ("port_rcv_remote_physical_errors", 16),
    "PortRcvSwitchRelayErrors": ("port_rcv_switch_relay_errors", 16),
    "PortXmitDiscards": ("port_xmit_discards", 16),
    "PortXmitConstraintErrors": ("port_xmit_constraint_errors", 8),
    "PortRcvConstraintErrors": ("port_rcv_constraint_errors", 8),
    "LocalLinkIntegrityErrors": ("local_link_integrity_errors", 4),
    "ExcessiveBufferOverrunErrors": ("excessive_buffer_overrun_errors", 4),
    "QP1Dropped": ("", 16),
    "VL15Dropped": ("VL15_dropped", 16),
    "PortXmitData": ("port_xmit_data", 32),
    "PortRcvData": ("port_rcv_data", 32),
    "PortXmitPkts": ("port_xmit_packets", 32),
    "PortRcvPkts": ("port_rcv_packets", 32),
    "PortXmitWait": ("port_xmit_wait", 32),
}
_SELECTED = {"PortSelect": "1", "CounterSelect": "0x0000"}
_SECOND = "LocalLinkIntegrityErrors"  # CounterSelect2 is the byte before it
# As ConnectX adapters report them.
_CAPABILITIES = "0x5300"


def main(argv: list[str], _version: str) -> int:
    """Run with the options [-R] -C DEVICE -P PORT."""
    words = [w for w in argv[1:] if w != "-R"]
    options = dict(zip(words[::2], words[1::2], strict=False))
    if not options.keys() <= {"-C", "-P"}:
        print("perfquery: not simulated: " + " ".join(argv[1:]), file=sys.stderr)
        return 1
    device, number = options.get("-C", "mlx5_0"), options.get("-P", "1")
    port = f"{ROOT}/{device}/ports/{number}"
    files = glob.glob(f"{port}/counters/*")
    if not files:
        return no_port("perfquery", device, number)
    if "-R" in argv:
        write_files(f"{port}/counters", {os.path.basename(f): 0 for f in files})
        return 0
    print(port_text(port), end="")
    return 0


def port_text(port: str) -> str:
    """The counters of the port whose files are in the folder `port`."""
    rows = dict(_SELECTED)
    for label, (file, bits) in _FIELDS.items():
        if label == _SECOND:
            rows["CounterSelect2"] = "0x00"
        rows[label] = str(min(int(read(f"{port}/counters/{file}") or 0), 2**bits - 1))
    title = f"# Port counters: Lid {int(read(f'{port}/lid') or '0', 16)} port {port.rpartition('/')[2]} (CapMask: {_CAPABILITIES})\n"
    return title + "".join(f"{label + ':':.<33}{value}\n" for label, value in rows.items())


def no_port(program: str, device: str, port: str) -> int:
    """Print what the programs of infiniband-diags print for a port that they cannot open. Returns their exit status."""
    print(f"ibwarn: [{os.getpid()}] mad_rpc_open_port: can't open UMAD port ({device}:{port})", file=sys.stderr)
    print(f"{program}: iberror: failed: Failed to open '{device}' port '{port}'")
    return 255
