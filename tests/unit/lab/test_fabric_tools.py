"""The validators parse the output of the simulated fabric tools, which has the format of the real ones."""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.simulator import (
    ethernet_rails,
    ethtool,
    iblinkinfo,
    ibv_devinfo,
    lldpctl,
    load,
    mlnx_qos,
    nic_settings,
    state,
    sysfs_rdma,
)
from clusterctl_lab.simulator.state import Fault, Faults
from clusterctl_tools import ethtool as ethtool_reader
from clusterctl_tools import infiniband_diags
from clusterctl_tools import lldpctl as lldp_reader
from clusterctl_tools.mlnx_qos import parse
from clusterctl_validators import roce_gids
from clusterctl_validators.probe import Probe
from clusterctl_validators.sources import LocalSource
from support.checks import write_files
from support.filters import filter_plugin

if TYPE_CHECKING:
    from pathlib import Path

BIT = st.integers(0, 1)
EIGHT = st.lists(st.integers(0, 7), min_size=8, max_size=8)


@given(
    trust=st.sampled_from(["pcp", "dscp"]),
    pfc=st.lists(BIT, min_size=8, max_size=8),
    buffers=EIGHT,
    mapping=st.lists(st.integers(0, 7), min_size=64, max_size=64),
)
def test_quality_of_service_parses(trust: str, pfc: list[int], buffers: list[int], mapping: list[int]) -> None:
    adapter = nic_settings.NicSettings(
        trust=trust, pfc=pfc, buffer_of=buffers, priority_of=mapping, buffer_sizes=[n * 128 for n in buffers]
    )
    qos = parse(mlnx_qos.qos_text(adapter))
    assert (qos.trust, qos.dcbx) == (trust, "os")
    assert qos.pfc == tuple(p for p in range(8) if pfc[p])
    assert qos.buffer_of == tuple(buffers)
    assert qos.buffer_sizes == tuple(n * 128 for n in buffers)
    assert qos.priority_of == (dict(enumerate(mapping)) if trust == "dscp" else {})


def output_of(tool: object, *words: str) -> str:
    assert callable(tool)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert tool(["tool", *words], "1") == 0
    return text.getvalue()


@pytest.fixture
def adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(nic_settings, "FOLDER", str(tmp_path / "nics"))
    return tmp_path


def test_rings_and_pause_parse(adapters: Path) -> None:
    output_of(ethtool.main, "-G", "ens12np0", "rx", "8192", "tx", "512")
    output_of(ethtool.main, "-A", "ens12np0", "rx", "off", "tx", "on")
    assert ethtool_reader.current_rings(output_of(ethtool.main, "-g", "ens12np0")) == {"rx": "8192", "tx": "512"}
    assert ethtool_reader.pause(output_of(ethtool.main, "-a", "ens12np0")) == {"rx": "off", "tx": "on"}
    assert ethtool_reader.pause(output_of(ethtool.main, "-a", "ens13np0")) == {"rx": "on", "tx": "on"}


def test_the_counters_of_a_link(adapters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(re.findall(r"_phy: (\d+)", output_of(ethtool.main, "-S", "ens12np0"))) == {"0"}
    faults = Faults((Fault("link_flaps", "mlx5_2", "3"), Fault("load_error", "2", "link_error")))
    monkeypatch.setattr(state, "read_faults", lambda: faults)
    monkeypatch.setattr(load, "raised", lambda _faults, kind: {2} if kind == "link_error" else set())
    found = output_of(ethtool.main, "-S", "ens12np0")
    assert "link_down_events_phy: 3\n" in found
    assert "rx_pcs_symbol_err_phy: 214\n" in found
    assert "214" not in output_of(ethtool.main, "-S", "ens13np0")


def test_a_query_writes_nothing(adapters: Path) -> None:
    assert output_of(ethtool.main, "-g", "ens12np0")
    assert output_of(ethtool.main, "-a", "ens12np0")
    assert output_of(mlnx_qos.main, "-i", "ens12np0")
    assert not (adapters / "nics").exists()
    output_of(mlnx_qos.main, "-i", "ens12np0", "--trust", "dscp")
    assert (adapters / "nics" / "mlx5_2.json").is_file()


def test_an_interface_without_an_hca_has_no_rings(adapters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ethtool.main(["ethtool", "-g", "eth0"], "") == 1
    assert "Operation not supported" in capsys.readouterr().err


def test_gids_are_derived_from_addresses(tmp_path: Path) -> None:
    files = ethernet_rails.gid_files("sys/class/infiniband/mlx5_0/ports/1", "ens10np0", ["fe80::1:2", "10.0.0.1", "fd02::1"])
    probe = Probe(LocalSource(str(write_files(tmp_path, {path: f"{value!s}\n" for path, value in files.items()}))))
    gids = roce_gids.read_gids(probe, "mlx5_0")
    assert [(g.index, g.address) for g in roce_gids.routable(gids)] == [(3, "10.0.0.1"), (5, "fd02::1")]
    assert len(gids) == 6


def test_lldp_neighbours_and_links_parse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = write_files(tmp_path, {f"/{path}": str(value) for path, value in sysfs_rdma.files("r12-n04", {"mlx5_1": 200}).items()})
    at = str(root / "class/infiniband")
    monkeypatch.setattr(iblinkinfo, "ROOT", at)
    monkeypatch.setattr("clusterctl_lab.simulator.cabling.ROOT", at)
    monkeypatch.setattr("os.uname", lambda: type("Uname", (), {"nodename": "r12-n04"}))
    link = infiniband_diags.parse_iblinkinfo(output_of(iblinkinfo.main, "-l", "-C", "mlx5_1", "-P", "1", "-D", "0"))[0]
    assert (link.near.port, link.far.host, link.far.port, link.speed) == (1, "leaf-su1-rail1", 4, "53.125 Gbps")
    back = infiniband_diags.parse_iblinkinfo(output_of(iblinkinfo.main, "-l", "-C", "mlx5_1", "-P", "1", "-D", "0,1", "-n", "0"))[0]
    assert (back.near, back.far) == (link.far, link.near)
    monkeypatch.setattr("clusterctl_lab.simulator.link_type.is_ethernet", lambda: True)
    found = lldp_reader.parse(output_of(lldpctl.main, "-f", "json"))
    assert [(n.name, n.ports) for n in found["ens17np0"]] == [("leaf-su1-rail7", ["swp4"])]


@pytest.mark.parametrize("mtu", [1500, 4191, 4192, 9000])
def test_the_rdma_mtu_equals_that_of_the_role(mtu: int) -> None:
    assert ibv_devinfo.active_mtu(mtu) == filter_plugin("roce_rules").active_mtu(mtu)
