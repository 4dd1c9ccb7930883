from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools.infiniband_diags import UnreadableFabricError, by_near_end, parse_iblinkinfo, parse_ibnetdiscover
from clusterctl_validators.cabling import NoPeerError, far_end
from support.recorded import recorded

FABRICS = ["topograph-example", "ufm-selene-storage"]


@pytest.mark.parametrize("name", FABRICS)
def test_every_port_of_a_recorded_fabric_is_read(name: str) -> None:
    text = recorded(f"ibnetdiscover/{name}.txt").read_text()
    links = parse_ibnetdiscover(text)
    assert len(links) == sum(line.startswith("[") for line in text.splitlines())
    ends = by_near_end(links)
    # Every link is listed from both ends, and both agree.
    for link in links:
        back = ends[(link.far.guid, link.far.port)]
        assert (back.far.guid, back.far.port, back.speed) == (link.near.guid, link.near.port, link.speed)


def test_a_host_of_a_recorded_fabric_and_its_leaf() -> None:
    links = by_near_end(parse_ibnetdiscover(recorded("ibnetdiscover/topograph-example.txt").read_text()))
    own = links[("e09d7303007a5a68", 1)]
    assert (own.near.name, own.far.host, own.far.port) == ("a08-p1-dgx-04-c17 mlx5_5", "A09-P1-IBLEAF-04-04", 17)
    assert (own.width, own.speed) == ("4X", "NDR")


def test_sharp_is_seen_in_a_recorded_fabric() -> None:
    links = parse_ibnetdiscover(recorded("ibnetdiscover/topograph-example.txt").read_text())
    assert any(link.far.name == "Mellanox Technologies Aggregation Node" for link in links)


def test_recorded_lines_of_iblinkinfo() -> None:
    text = recorded("_from-recipes/ibsim/iblinkinfo_line.txt").read_text()
    links = parse_iblinkinfo(text)
    assert len(links) == sum("==>" in line for line in text.splitlines())
    assert (links[0].near.name, links[0].far.name, links[0].far.port, links[0].speed) == ("node024", "leaf04", 6, "53.125 Gbps")


@pytest.mark.parametrize("name", ["topograph-example-bad.txt", "treydock-ibnetdiscover-test.txt"])
def test_another_format_is_refused(name: str) -> None:
    with pytest.raises(UnreadableFabricError):
        parse_ibnetdiscover(recorded(f"ibnetdiscover/{name}").read_text())


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_iblinkinfo, parse_ibnetdiscover):
        try:
            assert parse(text)
        except UnreadableFabricError:
            continue


def test_an_unplugged_cable_has_no_far_end() -> None:
    line = '0x0000000000100001 "  node001"      1    1[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'
    assert far_end(line, 1) is None
    with pytest.raises(NoPeerError):
        far_end("iblinkinfo: failed", 1)


# infiniband-diags/iblinkinfo.c (print_port) and libibmad/dump.c of rdma-core: before commit 4693522b6 (NDR) and 0538e6de8 (XDR) the tools have no name for them.
@pytest.mark.parametrize("speed", ["undefined (8)", "10.0 Gbps (FDR10)", "212.5 Gbps", "2.5 Gbps"])
def test_a_link_whose_speed_has_no_name_is_a_link(speed: str) -> None:
    line = f'0x01 "n1"  1  1[  ] ==( 4X {speed:>18} Active/  LinkUp)==>  0x02  2  9[  ] "leaf04" ( )'
    (link,) = parse_iblinkinfo(line)
    assert (link.width, link.speed, link.far.port) == ("4X", speed, 9)


def test_a_link_of_ibnetdiscover_whose_speed_has_no_name_is_a_link() -> None:
    text = 'Ca\t1 "H-0000000000000001"\t\t# "n1 mlx5_0"\n[1](1) \t"S-0000000000000002"[9]\t\t# lid 1 lmc 0 "leaf04" lid 2 4x???\n'
    assert [(link.far.name, link.speed) for link in parse_ibnetdiscover(text)] == [("leaf04", "???")]


def test_names_of_managed_and_plain_switches() -> None:
    line = '0x01 "n1"  1  1[  ] ==( 4X  106.25 Gbps Active/  LinkUp)==>  0x02  2  9[  ] "{}" ( )'
    for name, host in (("MF0;LEAF-04:MQM9700/U1", "LEAF-04"), ("leaf04", "leaf04")):
        peer = far_end(line.format(name), 1)
        assert peer is not None
        assert peer.is_at(host, "9")
        assert peer.is_at(name, "9")
        assert not peer.is_at(host, "1")
        assert re.fullmatch(rf"{host} port 9", str(peer))
