"""mlnx_qos: quality of service of an Ethernet adapter."""

from __future__ import annotations

import argparse
import sys

from . import nic_settings

_OWNERS = {"os": "OS", "fw": "Firmware"}


def main(argv: list[str], version: str) -> int:
    """Apply the options, then show all settings, as the real tool does."""
    parser = argparse.ArgumentParser(prog="mlnx_qos")
    parser.add_argument("-i", "--interface", required=True)
    parser.add_argument("--trust", choices=["pcp", "dscp"])
    parser.add_argument("-f", "--pfc")
    parser.add_argument("--dscp2prio")
    parser.add_argument("--buffer_size")
    parser.add_argument("--prio2buffer")
    parser.add_argument("-d", "--dcbx", choices=["os", "fw"])
    parser.add_argument("-v", "--version", action="version", version=f"mlnx_qos {version} (simulated)")
    options = parser.parse_args(argv[1:])
    device = nic_settings.device_of_interface(options.interface)
    if not device:
        print(f"Interface {options.interface} is not found or not supported", file=sys.stderr)
        return 1
    adapter = nic_settings.load_settings(device)
    apply_options(adapter, options)
    if adapter != nic_settings.load_settings(device):  # a query writes nothing
        nic_settings.save_settings(device, adapter)
    print(qos_text(adapter), end="")
    return 0


def apply_options(adapter: nic_settings.NicSettings, options: argparse.Namespace) -> None:
    """Change the settings for which an option is given."""
    adapter.trust = options.trust or adapter.trust
    adapter.dcbx = _OWNERS.get(options.dcbx, adapter.dcbx)
    if options.dscp2prio:
        action, dscp, priority = options.dscp2prio.split(",")
        adapter.priority_of[int(dscp)] = int(priority) if action == "set" else int(dscp) // 8
    for option, name in ((options.pfc, "pfc"), (options.buffer_size, "buffer_sizes"), (options.prio2buffer, "buffer_of")):
        if option:
            setattr(adapter, name, [int(n) for n in option.split(",")])


def qos_text(adapter: nic_settings.NicSettings) -> str:
    """The output of mlnx_qos from DOCA-OFED."""
    lines = [f"DCBX mode: {adapter.dcbx} controlled", f"Priority trust state: {adapter.trust}"]
    if adapter.trust == "dscp":
        lines.append("dscp2prio mapping:")
        for priority in range(8):
            points = [f"{dscp:02d}," for dscp in reversed(range(64)) if adapter.priority_of[dscp] == priority]
            lines.append(f"\tprio:{priority} dscp:{''.join(points)}")
    else:
        lines.append("default priority:")
    row = "   ".join
    lines += [
        f"Receive buffer size (bytes): {','.join(map(str, adapter.buffer_sizes))},max_buffer_size=262016",
        "Cable len: 7",
        "PFC configuration:",
        f"\tpriority    {row(map(str, range(8)))}",
        f"\tenabled     {row(map(str, adapter.pfc))}   ",
        f"\tbuffer      {row(map(str, adapter.buffer_of))}   ",
    ]
    for priority in range(8):
        lines += [f"tc: {priority} ratelimit: unlimited, tsa: vendor", f"\t priority:  {priority}"]
    return "\n".join(lines) + "\n"
