"""The script that prints a snapshot of a node's error counters: lines of the kernel log, sysfs, and what Ethernet ports count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.error_actions import SWITCH_LINK
from clusterctl.core.lemons.owners import device_key
from clusterctl_validators.rdma_sysfs import SWITCH_MANAGEMENT
from support.agents import program

if TYPE_CHECKING:
    from pathlib import Path


def printed(text: str) -> dict[str, Any]:
    """A command that ended well."""
    return {"error": "", "exit_status": 0, "stdout": text, "stderr": ""}


FIRST = "[    0.000000] kernel: Linux version 6.8.0"
XID = "[  {}.5] kernel: NVRM: Xid (PCI:0000:19:00): 13, x"


@pytest.mark.parametrize(
    ("lines", "since_s"),
    [
        ([FIRST, XID.format(60)], 0.0),
        ([XID.format(60)], 60.5),
        ([FIRST, "[   70.25] systemd-journald[412]: Missed 17 kernel messages"], 70.25),
        ([FIRST, "[   70.25] kernel: systemd-journald[412]: Missed 17 kernel messages"], 0.0),
        ([FIRST, *(XID.format(n) for n in range(10, 10 + 403))], 12.5),  # 400 lines are kept
    ],
)
def test_since_when_the_lines_of_a_snapshot_are_complete(lines: list[str], since_s: float) -> None:
    found = program("error_snapshot").chosen_lines(lines, "NVRM: Xid")
    assert found["complete_since_s"] == since_s
    assert len(found["lines"]) <= 400


def test_a_snapshot_takes_the_log_that_reaches_further_back(monkeypatch: pytest.MonkeyPatch) -> None:
    script = program("error_snapshot")
    late, first = printed(XID.format(60)), printed(f"{FIRST}\n{XID.format(60)}")
    for answers in ([late, first], [first, late]):
        left = iter(answers)
        monkeypatch.setattr(script, "command_output", lambda _argv, left=left: next(left))
        assert script.kernel_log("Xid") == {"error": "", "lines": [XID.format(60)], "complete_since_s": 0.0}


# Product data: identifier string, serial number, and a field of the vendor that has `SMDL=SW_MNG` in a function that manages NVSwitches.
VPD = b"\x82\x03\x00CX7\x90\x16\x00SN\x03MT1V0\x0dX,%s\x78"


def test_a_port_to_the_nvswitches_is_no_port_of_an_adapter(tmp_path: Path) -> None:
    """HGX B200: management functions are RDMA devices beside those of the rails, and only their product data tells."""
    for name, field in (("mlx5_0", b"LANES=4,Y=1"), ("mlx5_8", SWITCH_MANAGEMENT.encode())):
        device, port = tmp_path / "class/infiniband" / name / "device", tmp_path / "class/infiniband" / name / "ports/1"
        device.mkdir(parents=True)
        (port / "counters").mkdir(parents=True)
        (device / "vpd").write_bytes(VPD % field)
        (port / "counters/link_downed").write_text("2\n")
        (port / "rate").write_text("400 Gb/sec (4X NDR)\n")
    script = program("error_snapshot")
    assert script.counters(tmp_path) == {"mlx5_0/1": {"link_downed": 2}, f"{SWITCH_LINK}mlx5_8/1": {"link_downed": 2}}
    assert script.rates_gbps(tmp_path) == {"mlx5_0/1": 400.0, f"{SWITCH_LINK}mlx5_8/1": 400.0}


def test_a_plane_is_one_of_its_adapter(tmp_path: Path) -> None:
    """XDR: the device that subnet managers have beside mlx5_4 counts the planes of its link (Linux, process_pma_cmd of mlx5/mad.c)."""
    function = tmp_path / "bus/pci/devices/0000:18:00.0"
    for name in ("mlx5_4", "smi1"):
        for port in (1, 2) if name == "smi1" else (1,):
            counters = tmp_path / "class/infiniband" / name / f"ports/{port}/counters"
            counters.mkdir(parents=True)
            (counters / "link_downed").write_text(f"{port}\n")
        (function / "infiniband" / name).mkdir(parents=True)
        (tmp_path / "class/infiniband" / name / "device").symlink_to(function)
    found = program("error_snapshot").counters(tmp_path)
    assert found == {"mlx5_4/1": {"link_downed": 1}, "mlx5_4/plane 1": {"link_downed": 1}, "mlx5_4/plane 2": {"link_downed": 2}}
    assert {device_key(name) for name in found} == {"mlx5_4"}


def test_the_script_reads_sysfs(tmp_path: Path) -> None:
    files = {
        "class/infiniband/mlx5_0/ports/1/counters/symbol_error": "3\n",
        "class/infiniband/mlx5_0/ports/1/counters/port_xmit_wait": "N/A (no PMA)\n",
        "class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": "4\n",
        "class/infiniband/mlx5_0/ports/1/hw_counters/lifespan": "10\n",
        "bus/pci/devices/0000:18:00.0/aer_dev_correctable": "RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 3\n",
        "bus/pci/devices/0000:18:00.0/aer_dev_fatal": "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0\n",
        "devices/system/edac/mc/mc0/ue_count": "1\n",
        "devices/system/edac/mc/mc0/ce_count": "",
        "devices/system/edac/mc/mc0/ce_noinfo_count": "0",
        "devices/system/edac/mc/mc0/dimm3/dimm_ce_count": "7\n",
        "devices/system/edac/mc/mc1/rank0/dimm_ce_count": "8\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    script = program("error_snapshot")
    (tmp_path / "class/infiniband/mlx5_0/ports/1/rate").write_text("400 Gb/sec (4X NDR)\n")
    assert script.rates_gbps(tmp_path) == {"mlx5_0/1": 400.0}
    assert script.counters(tmp_path) == {
        "mlx5_0/1": {"symbol_error": 3, "out_of_sequence": 4},
        "0000:18:00.0": {"aer_correctable": 3, "aer_fatal": 0},
        "mc0": {"ue_count": 1, "ce_noinfo_count": 0},
        "mc0/dimm3": {"dimm_ce_count": 7},
        "mc1/rank0": {"dimm_ce_count": 8},
    }


STATISTICS = """NIC statistics:
     rx_packets: 17
     rx_crc_errors_phy: 1
     rx_symbol_err_phy: 2
     rx_pcs_symbol_err_phy: 3
     rx_corrected_bits_phy: 18446744073709551615
     rx_err_lane_0_phy: 5
     link_down_events_phy: 6
     rx_prio0_bytes: 7"""


@pytest.mark.parametrize(
    ("interfaces", "port", "layer", "queried"),
    [
        ({"ens10np0": ("0", "p0")}, 1, "Ethernet", "ens10np0"),
        ({"ens10np0": ("0", "p0"), "ens10np1": ("1", "p1")}, 2, "Ethernet", "ens10np1"),
        ({"eth4": ("0", "pf0vf3"), "ens10np0": ("0", "p0")}, 1, "Ethernet", "ens10np0"),  # switchdev: representors are beside it
        ({"ens10np0": ("3", "")}, 1, "Ethernet", "ens10np0"),
        ({"ens10np0": ("3", ""), "ens11np0": ("4", "")}, 1, "Ethernet", ""),
        ({"ib0": ("0", "")}, 1, "InfiniBand", ""),
        ({}, 1, "Ethernet", ""),
    ],
)
def test_the_counters_of_an_ethernet_port(
    interfaces: dict[str, tuple[str, str]], port: int, layer: str, queried: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = tmp_path / "class/infiniband/mlx5_0"
    (device / f"ports/{port}").mkdir(parents=True)
    (device / f"ports/{port}/link_layer").write_text(f"{layer}\n")
    for name, (number, shown) in interfaces.items():
        (device / "device/net" / name).mkdir(parents=True)
        (device / "device/net" / name / "dev_port").write_text(f"{number}\n")
        (device / "device/net" / name / "phys_port_name").write_text(f"{shown}\n")
    script, run = program("error_snapshot"), list[list[str]]()

    def command_output(argv: list[str]) -> dict[str, Any]:
        run.append(argv)
        return printed(STATISTICS)

    monkeypatch.setattr(script, "command_output", command_output)
    found = script.counters(tmp_path)
    counted = {"rx_crc_errors_phy": 1, "rx_symbol_err_phy": 2, "rx_pcs_symbol_err_phy": 3, "link_down_events_phy": 6}
    counted["rx_corrected_bits_phy"] = 18446744073709551615
    assert (found, run) == (({f"mlx5_0/{port}": counted}, [["ethtool", "-S", queried]]) if queried else ({}, []))


def test_an_ethernet_port_without_ethtool_has_no_such_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "class/infiniband/mlx5_0/ports/1").mkdir(parents=True)
    (tmp_path / "class/infiniband/mlx5_0/ports/1/link_layer").write_text("Ethernet\n")
    (tmp_path / "class/infiniband/mlx5_0/device/net/ens10np0").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program("error_snapshot").counters(tmp_path) == {}
