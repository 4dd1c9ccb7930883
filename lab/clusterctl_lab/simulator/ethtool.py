"""ethtool: ring and pause parameters of the Ethernet HCAs; other interfaces support neither."""

from __future__ import annotations

import sys

from . import nic_settings

# The rows that ethtool 6.1 adds to the current settings; values of mlx5.
_ALSO = "RX Buf Len:\t\tn/a\nCQE Size:\t\tn/a\nTX Push:\toff\nTCP data split:\toff\n"
_RING = "RX:\t\t{rx}\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t{tx}\n"


def main(argv: list[str], version: str) -> int:
    """Show (-g, -a) or set (-G, -A with `rx VALUE tx VALUE`) the parameters."""
    option, name, words = (argv[1] if len(argv) > 1 else "", argv[2] if len(argv) > 2 else "", argv[3:])
    if option == "--version":
        print(f"ethtool version {version} (simulated)")
        return 0
    device = nic_settings.device_of_interface(name)
    if not device or option not in ("-g", "-a", "-G", "-A"):
        print("netlink error: Operation not supported", file=sys.stderr)
        return 1
    adapter = nic_settings.load_settings(device)
    given = dict(zip(words[::2], words[1::2], strict=True))
    if option == "-G":
        adapter.rings |= {way: min(int(n), 8192) for way, n in given.items()}
    if option == "-A":
        adapter.pause |= given
    if option in ("-G", "-A"):
        nic_settings.save_settings(device, adapter)
    if option == "-g":
        most, now = _RING.format(rx=8192, tx=8192), _RING.format(**adapter.rings)
        print(f"Ring parameters for {name}:\nPre-set maximums:\n{most}Current hardware settings:\n{now}{_ALSO}", end="")
    if option == "-a":
        print(f"Pause parameters for {name}:\nAutonegotiate:\toff\nRX:\t\t{adapter.pause['rx']}\nTX:\t\t{adapter.pause['tx']}\n")
    return 0
