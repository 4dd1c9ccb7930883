"""/sys/class/infiniband: HCAs with one port each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import machine, sysfs_pci

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = "/sys/class/infiniband"
GIDS = 16
COUNTERS = [
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "multicast_rcv_packets",
    "multicast_xmit_packets",
    "port_rcv_constraint_errors",
    "port_rcv_data",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_data",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
    "symbol_error",
    "unicast_rcv_packets",
    "unicast_xmit_packets",
]
HW_COUNTERS = [
    "duplicate_request",
    "implied_nak_seq_err",
    "lifespan",
    "local_ack_timeout_err",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
    "rx_atomic_requests",
    "rx_dct_connect",
    "rx_icrc_encapsulated",
    "rx_read_requests",
    "rx_write_requests",
]
_RATES = {800: "800 Gb/sec (4X XDR)", 400: "400 Gb/sec (4X NDR)", 200: "200 Gb/sec (4X HDR)", 100: "100 Gb/sec (4X EDR)"}


def files(node: str, trained_gbps: Mapping[str, int], *, ethernet: bool = False) -> dict[str, str | int | bytes]:
    """All files, relative to /sys. `trained_gbps`: HCAs whose link trained below the line rate, with their rate."""
    result: dict[str, str | int | bytes] = {}
    for index in machine.live_hcas():
        name = machine.hca_name(index)
        path = f"class/infiniband/{name}"
        identity = (node, name, machine.hca_guid(node, index), machine.hca_lid(node, index))
        result |= _hca(path, identity, trained_gbps.get(name, machine.THIS.line_rate_gbps))
        if ethernet:
            # Ethernet has no subnet manager, and no traffic class until one is set.
            result |= {f"{path}/ports/1/{file}": value for file, value in (("link_layer", "Ethernet"), ("lid", "0x0"), ("sm_lid", "0x0"))}
            result[f"{path}/tc/1/traffic_class"] = b""
    for number, (name, _) in enumerate(machine.THIS.switch_hcas):
        # These links lead to the NVSwitches; the subnet manager of the board assigns the local ids.
        result |= _hca(f"class/infiniband/{name}", (node, name, f"cc40:f303:0027:f{number:03x}", 1 + number), 400)
    for number, (name, address) in enumerate(machine.THIS.other_hcas):
        result |= _other(
            name, (node, name, f"a088:c203:0027:f{number:03x}", 0), ethernet=address.endswith(".1") or address == machine.THIS.management
        )
    return result


def _other(name: str, identity: tuple[str, str, str, int], *, ethernet: bool) -> dict[str, str | int | bytes]:
    """A port for management, or one for storage that has no cable."""
    path = f"class/infiniband/{name}"
    layer = {"link_layer": "Ethernet", "lid": "0x0", "sm_lid": "0x0", "rate": rate_text(200)}
    down = {"lid": "0x0", "sm_lid": "0x0", "state": "1: DOWN", "phys_state": "2: Polling"}
    return _hca(path, identity, 200) | {f"{path}/ports/1/{file}": value for file, value in (layer if ethernet else down).items()}


def rate_text(gbps: int) -> str:
    """The content of the `rate` file of a port with four lanes."""
    return _RATES[gbps]


def links() -> dict[str, str]:
    """The link `device` of each HCA to its PCI function, and the one back."""
    return {f"class/infiniband/{name}/device": f"../../../{sysfs_pci.device_folder(address)}" for name, address in devices()} | {
        f"{sysfs_pci.device_folder(address)}/infiniband/{name}": f"{up}class/infiniband/{name}"
        for name, address in devices()
        for up in ("../" * (sysfs_pci.device_folder(address).count("/") + 2),)
    }


def devices() -> list[tuple[str, str]]:
    """Name and PCI address of every RDMA device."""
    this = machine.THIS
    return [*((this.hca_names[i], this.hca_addresses[i]) for i in machine.live_hcas()), *this.switch_hcas, *this.other_hcas]


def _hca(path: str, identity: tuple[str, str, str, int], rate_gbps: int) -> dict[str, str | int | bytes]:
    node, name, guid, lid = identity
    port = f"{path}/ports/1"
    result: dict[str, str | int | bytes] = {
        f"{path}/board_id": machine.THIS.hca_board,
        f"{path}/fw_ver": machine.THIS.hca_firmware,
        f"{path}/hca_type": machine.THIS.hca_type,
        f"{path}/hw_rev": 0,
        f"{path}/node_desc": f"{node} {name}",
        f"{path}/node_guid": guid,
        f"{path}/node_type": "1: CA",
        f"{path}/sys_image_guid": guid,
        f"{port}/cap_mask": "0xa751e848",
        f"{port}/gids/0": f"fe80:0000:0000:0000:{guid}",
        f"{port}/lid": f"0x{lid:x}",
        f"{port}/lid_mask_count": 0,
        f"{port}/link_layer": "InfiniBand",
        f"{port}/phys_state": "5: LinkUp",
        f"{port}/pkeys/0": "0xffff",
        f"{port}/rate": rate_text(rate_gbps),
        f"{port}/sm_lid": "0x1",
        f"{port}/sm_sl": 0,
        f"{port}/state": "4: ACTIVE",
    }
    result |= {f"{port}/counters/{name}": 0 for name in COUNTERS}
    return result | {f"{port}/hw_counters/{name}": 10 if name == "lifespan" else 0 for name in HW_COUNTERS}
