"""A lab node that simulates a GB300 NVL72 compute tray, as the validators see it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates.error_limits import DEFAULT_LIMITS, is_unknown_link_counter
from clusterctl_lab.simulator import (
    hardware_kinds,
    imex_channel,
    load,
    nccl_tests,
    nvidia_smi,
    nvlink_fabric,
    peers,
    procfs,
    sysfs_cpu,
    sysfs_pci,
    sysfs_rdma,
)
from clusterctl_tools import nvidia_smi as parser
from clusterctl_tools.nvidia_smi import gpu_counters, nvlink_counters
from clusterctl_tools.nvlink_losses import losses_by_gpu
from support.lab_machine import LabMachine, lab_machine, simulate_hardware
from support.recorded import recorded

if TYPE_CHECKING:
    from clusterctl_tools.gpu import GpuLog

TRAY = hardware_kinds.GB300_NVL72


@pytest.fixture
def tray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    simulate_hardware(TRAY, monkeypatch)
    monkeypatch.setattr(imex_channel, "PATH", str(tmp_path / "dev" / "channel0"))
    one = lab_machine(tmp_path, monkeypatch)
    one.gpu_stack()
    return one


def query(capsys: pytest.CaptureFixture[str]) -> GpuLog:
    assert nvidia_smi.main(["nvidia-smi", "-q", "-x"], "580.126.20") == 0
    return parser.parse_query(capsys.readouterr().out)


def test_a_healthy_tray_counts_slowdowns_by_software_and_passes(
    tray: LabMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slowed() -> list[int]:
        assert nvidia_smi.main(["nvidia-smi", "-q", "-x"], "580.126.20") == 0
        return [c["sw_therm_slowdown_us"] for c in gpu_counters(capsys.readouterr().out).values()]

    up_s = float(Path("/proc/uptime").read_text().split()[0])
    first = slowed()
    assert [n > 0 for n in first] == [False, True, True, True]
    assert max(first) < DEFAULT_LIMITS["sw_therm_slowdown_us"].over((up_s + 60) / 60)
    monkeypatch.setattr(load, "FOLDER", str(tmp_path))
    tray.inject_fault("load_error", "1", "sw_thermal")
    load.begin()
    assert slowed()[1] > DEFAULT_LIMITS["sw_therm_slowdown_us"].over(60.0)


def test_links_of_blackwell_have_counters_of_their_own_names_and_each_is_judged_or_known(
    tray: LabMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def counters() -> dict[str, dict[str, float]]:
        assert nvidia_smi.main(["nvidia-smi", "nvlink", "-e"], "580.126.20") == 0
        return {link: dict(own) for link, own in nvlink_counters(capsys.readouterr().out).items()}

    healthy = counters()
    assert len(healthy) == 4 * 18
    names = set(healthy["GPU 3 NVLink 17"])
    assert "nvlink_crc_errors" not in names
    assert not [n for n in names if is_unknown_link_counter(n)]
    assert all(own[n] <= limit.over(1.0) for own in healthy.values() for n, limit in DEFAULT_LIMITS.items() if n in own)
    monkeypatch.setattr(load, "FOLDER", str(tmp_path))
    tray.inject_fault("load_error", "1", "nvlink_error")
    load.begin()
    assert {link for link, own in counters().items() if own != healthy[link]} == {"GPU 1 NVLink 0"}
    tray.inject_fault("nvlink_flaps", "2", "505")
    assert {gpu: max(own.values()) for gpu, own in losses_by_gpu(counters()).items()} == {0: 0, 1: 0, 2: 505, 3: 0}


@pytest.mark.usefixtures("tray")
def test_gpus_show_the_values_of_a_real_tray(capsys: pytest.CaptureFixture[str]) -> None:
    real = parser.parse_query(recorded("nvidia-smi/qx-hardware/qx-gb300.xml").read_text()).gpus
    ours = query(capsys).gpus
    fields = (
        "model",
        "architecture",
        "memory_mib",
        "bus_id",
        "pcie_gen_max",
        "pcie_width_current",
        "power_max_w",
        "fabric_state",
        "fabric_status",
    )
    for name in (*fields, "fabric_health", "fabric_clique", "ecc_current"):
        assert [getattr(g, name) for g in ours] == [getattr(g, name) for g in real], name


def test_trays_of_a_rack_share_a_cluster_uuid_and_racks_differ() -> None:
    assert nvlink_fabric.cluster_uuid("r20-n01") == nvlink_fabric.cluster_uuid("r20-n17") != nvlink_fabric.cluster_uuid("r21-n01")


def test_a_gpu_outside_the_fabric_has_no_domain(tray: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    tray.inject_fault("fabric_stuck", "1")
    gpus = query(capsys).gpus
    assert [g.fabric_state for g in gpus] == ["Completed", "In Progress", "Completed", "Completed"]
    assert (gpus[1].fabric_health, gpus[1].fabric_cluster) == (None, None)
    assert not peers.describe_self().fabric


def test_the_fabric_needs_no_fabric_manager_on_the_tray(tray: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    (tray.root / "run" / "fabric").unlink()
    assert {g.fabric_state for g in query(capsys).gpus} == {"Completed"}


def run(capsys: pytest.CaptureFixture[str], *nodes: peers.Peer, **environment: str) -> str:
    words = ["-b", "1G", "-e", "1G"]
    nccl_tests.run_group("all_reduce", words, "2.17.6", [(n, 4) for n in nodes], {"NCCL_DEBUG": "INFO", **environment})
    return capsys.readouterr().out


def make_channel(tray: LabMachine) -> None:
    (tray.root / "dev").mkdir()
    (tray.root / "dev" / "channel0").touch()


def test_nccl_across_trays_needs_the_imex_channel_and_imex(tray: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    def both() -> str:
        me = peers.describe_self()
        return run(capsys, me, me)

    without = both()
    assert "Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels)" in without
    assert without.index("Cuda failure 801") < without.index("MNNVL (cliqueSize 8)")
    make_channel(tray)
    assert "nvidia-imex-ctl -N" in both()
    tray.flag("imex")
    output = both()
    assert "via P2P/MNNVL" in output
    assert "NET/IB/" not in output
    me = peers.describe_self()
    assert nccl_tests.bus_bandwidth("all_reduce", [(me, 4), (me, 4)], rack_nvlink=True) > TRAY.line_rate_gbps / 8 * len(TRAY.hca_addresses)


@pytest.mark.parametrize(
    ("conf", "variable", "way"),
    [
        ("", None, "P2P/CUMEM"),
        ("NCCL_MNNVL_ENABLE=2\n", None, "P2P/CUMEM"),
        ("NCCL_MNNVL_ENABLE=1\n", None, None),
        ("NCCL_MNNVL_ENABLE=1\n", "0", "P2P/CUMEM"),
        ("", "1", None),
    ],
)
def test_one_tray_needs_imex_only_where_it_is_forced(
    tray: LabMachine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    conf: str,
    variable: str | None,
    way: str | None,
) -> None:
    (tmp_path / "nccl.conf").write_text(conf)
    monkeypatch.setattr(peers, "NCCL_CONF", str(tmp_path / "nccl.conf"))
    own = {} if variable is None else {"NCCL_MNNVL_ENABLE": variable}
    text = run(capsys, peers.describe_self(), **own)
    if way:
        assert f"via {way}" in text
        return
    assert "MNNVL (cliqueSize 4) is available but not working" in text
    make_channel(tray)
    tray.flag("imex")
    assert "via P2P/MNNVL" in run(capsys, peers.describe_self(), **own)


def test_a_tray_of_another_imex_domain_cannot_be_reached(tray: LabMachine, capsys: pytest.CaptureFixture[str]) -> None:
    make_channel(tray)
    tray.flag("imex")
    me = peers.describe_self()
    ours = replace(me, imex=("10.0.0.1", "10.0.0.1", "10.0.0.2"))
    theirs = replace(me, node="n2", imex=("10.0.0.2", "10.0.0.2"))
    text = run(capsys, ours, theirs)
    assert "transport/p2p.cc:281 NCCL WARN Cuda failure 801" in text
    assert "MNNVL (clique" not in text
    assert "via P2P/MNNVL" in run(capsys, ours, replace(theirs, imex=("10.0.0.2", *ours.imex[1:])))


@pytest.mark.usefixtures("tray")
def test_the_kernel_shows_two_arm_sockets_without_smt() -> None:
    assert procfs.cpuinfo().count("CPU implementer\t: 0x41") == 144
    files = sysfs_cpu.files("")
    assert files["devices/system/cpu/cpu143/topology/thread_siblings_list"] == "143"
    assert files["devices/system/cpu/cpu71/topology/physical_package_id"] == 0
    assert files["devices/system/cpu/cpu72/topology/physical_package_id"] == 1
    assert files["devices/system/cpu/cpufreq/policy0/scaling_driver"] == "cppc_cpufreq"
    assert not any("intel_pstate" in name for name in files)


@pytest.mark.usefixtures("tray")
def test_devices_are_in_separate_pci_domains() -> None:
    links = sysfs_pci.links({1})
    assert "bus/pci/devices/0008:06:00.0" in links
    assert "bus/pci/devices/0009:06:00.0" not in links
    assert sysfs_rdma.links()["class/infiniband/mlx5_3/device"].endswith("devices/pci0012:02/0012:02:01.0/0012:03:00.0")
    assert sysfs_rdma.files("n1", {})["class/infiniband/mlx5_0/ports/1/rate"] == "800 Gb/sec (4X XDR)"


@pytest.mark.usefixtures("tray")
def test_imex_channel_devices_exist_only_on_a_tray(monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"{imex_channel.MAJOR} nvidia-caps-imex-channels" in procfs.devices_text()
    simulate_hardware(hardware_kinds.HGX_H100, monkeypatch)
    assert "imex" not in procfs.devices_text()
