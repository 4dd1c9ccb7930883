"""ethtool: ring and pause parameters and link counters of the Ethernet HCAs; other interfaces support none of them."""

from __future__ import annotations

import sys

from . import load, machine, nic_settings, state

# The rows that ethtool 6.1 adds to the current settings; values of mlx5.
_ALSO = "RX Buf Len:\t\tn/a\nCQE Size:\t\tn/a\nTX Push:\toff\nTCP data split:\toff\n"
_RING = "RX:\t\t{rx}\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t{tx}\n"


# Names as in Linux, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst.
_PHY = (
    *("rx_crc_errors_phy", "rx_in_range_len_errors_phy", "rx_symbol_err_phy", "rx_discards_phy", "tx_discards_phy", "tx_errors_phy"),
    *("rx_pcs_symbol_err_phy", "rx_corrected_bits_phy", "link_down_events_phy"),
)
_LINK_ERRORS = {"rx_pcs_symbol_err_phy": 214, "rx_symbol_err_phy": 31, "rx_crc_errors_phy": 12}


def statistics(device: str) -> dict[str, int]:
    """What the port of an HCA counts: nothing but what faults make of it."""
    faults = state.read_faults()
    raised = machine.THIS.hca_names.index(device) in load.raised(faults, "link_error")
    losses = sum(int(f.option) for f in faults.of("link_flaps", device))
    return {**dict.fromkeys(_PHY, 0), **(_LINK_ERRORS if raised else {}), "link_down_events_phy": losses}


def main(argv: list[str], version: str) -> int:
    """Show (-g, -a, -S) or set (-G, -A with `rx VALUE tx VALUE`) the parameters."""
    option, name, words = (argv[1] if len(argv) > 1 else "", argv[2] if len(argv) > 2 else "", argv[3:])
    if option == "--version":
        print(f"ethtool version {version} (simulated)")
        return 0
    device = nic_settings.device_of_interface(name)
    if device and option == "-S":
        print("NIC statistics:", *(f"     {counter}: {value}" for counter, value in statistics(device).items()), sep="\n")
        return 0
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
