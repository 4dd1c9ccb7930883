"""Serial numbers in recorded outputs of real machines, and in invented ones for what no recording has."""

from __future__ import annotations

import re

import pytest

from clusterctl.core.parsers.serials import gpu_parts, parse_dmidecode, parse_vpd, real_serial
from clusterctl.model.part import Part
from clusterctl_tools.nvidia_smi import parse_parts
from support.recorded import recorded


def dmi(name: str) -> tuple[Part, ...]:
    return parse_dmidecode(recorded(f"dmidecode/{name}").read_text(encoding="utf-8", errors="replace"))


def test_what_is_longer_than_any_serial_is_none() -> None:
    """PostgreSQL has an index over serials, which takes no longer ones: the parts of all nodes of the run were lost."""
    assert real_serial("S" * 255) == "S" * 255
    assert real_serial("S" * 256) == ""


def test_a_server_with_two_of_four_dimms() -> None:
    found = {(p.kind, p.slot): p for p in dmi("ironlib-asrr-e3c246d4i-nl-dmidecode.txt")}
    assert {k: p.serial for (k, _), p in found.items() if k in ("system", "baseboard", "chassis")} == {
        "system": "D5S0R8000105",
        "baseboard": "196231220000153",
        "chassis": "K61203057200139",
    }
    assert found["dimm", "BANK 0 ChannelA-DIMM0"] == Part(
        "dimm", "BANK 0 ChannelA-DIMM0", "DIMM BANK 0 ChannelA-DIMM0", "18ASF2G72HZ-2G6E1", "F0F9053F"
    )
    assert ("dimm", "BANK 1 ChannelA-DIMM1") not in found, "no module is installed there"
    assert not [p for p in found.values() if p.kind == "cpu"], "x86 CPUs tell no serial"


NAMES = (
    "gpud-dmidecode.txt",
    "ironlib-dell-r6515-dmidecode-psu.txt",
    "jc-centos-7.7-dmidecode.txt",
    "sparecores-aws-g4dn.metal.txt",
    "sparecores-azure-Standard_NC96ads_A100_v4.txt",
    "sparecores-gcp-a3-ultragpu-8g.txt",
    "sparecores-upcloud-GPU-48xCPU-480GB-2xB200.txt",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_output_gives_parts_at_places_of_their_own(name: str) -> None:
    found = dmi(name)
    places = [(p.kind, p.slot) for p in found]
    assert len(places) == len(set(places))
    assert not [p for p in found if re.fullmatch("(?i)not specified|none|0*", p.serial)]
    assert {p.kind for p in found} <= {"system", "baseboard", "chassis", "cpu", "dimm"}


def test_two_parts_at_one_place_are_told_apart_by_their_handles() -> None:
    node = "Base Board Information\n\tProduct Name: HGX\n\tSerial Number: {}\n"
    text = "".join(f"Handle 0x000{i}, DMI type 2, 15 bytes\n" + node.format(serial) for i, serial in enumerate(("A", "B")))
    assert [(p.slot, p.serial) for p in parse_dmidecode(text)] == [("", "A"), ("0x0001", "B")]


@pytest.mark.parametrize("text", ["", "/dev/mem: Permission denied", "# No SMBIOS nor DMI entry point found, sorry.", "Handle 0x1"])
def test_no_tables_no_parts(text: str) -> None:
    assert parse_dmidecode(text) == ()


def test_gpus() -> None:
    text = "0, 00000000:18:00.0, 1652923004442, NVIDIA H100 80GB HBM3\n1, 00000001:2A:00.0, [N/A], NVIDIA GeForce RTX 4090\nNo devices were found\n"
    assert gpu_parts(parse_parts(text)) == (Part("gpu", "0000:18:00.0", "GPU 0", "NVIDIA H100 80GB HBM3", "1652923004442"),)


# What recorded queries of boards say: seven digits of product and date before the number, or N/A where a board has none.
@pytest.mark.parametrize(
    ("name", "serials"),
    [
        ("nvidia-smi/gpud-nvidia-smi-query.535.129.03.out.0.valid.a10.txt", {"1324521052681"}),
        ("nvidia-smi/gpud-nvidia-smi-query.535.154.05.out.0.valid.4090.txt", {""}),
    ],
)
def test_recorded_serials_of_boards(name: str, serials: set[str]) -> None:
    told = re.findall(r"^ +Serial Number +: (.*)$", recorded(name).read_text(), re.MULTILINE)
    assert {real_serial(t) for t in told} == serials


def vpd(*fields: tuple[str, str], name: str = "") -> bytes:
    """As an adapter writes it: identifier string, read-only fields, end."""
    body = b"".join(key.encode() + bytes([len(value)]) + value.encode() for key, value in fields)
    return b"\x82" + len(name).to_bytes(2, "little") + name.encode() + b"\x90" + len(body).to_bytes(2, "little") + body + b"\x78"


def test_the_recorded_fields_of_a_connectx() -> None:
    text = recorded("lspci/cx7-degraded-gen4x8.txt").read_text()
    (title,) = re.findall(r"Product Name: (.*)", text)
    fields = re.findall(r"\[(PN|EC|V2|SN|V3|VA|V0|VU)\] [^:]+: (.*)", text)
    assert parse_vpd(vpd(*fields, name=title)) == (title, "MT2304XZ02VD")


BROKEN = [b"", b"\x82", b"\x82\xff\xff", b"\x78", b"\xff" * 64, vpd(("PN", "X")), vpd(("SN", "N/A")), b"\x90\x05\x00SN\xffA"]


@pytest.mark.parametrize("data", BROKEN)
def test_broken_product_data_has_no_serial(data: bytes) -> None:
    assert parse_vpd(data)[1] in ("", "A")


# Supermicro's system and chassis (Solvik/netbox-agent issue 296), a Broadcom adapter's VPD, and AMI's DIMM slots: the same on every machine.
COUNTED = ("0123456789", "123456789", "1234567890", "01234567890123456789AB", "A1_SerNum0", "SerNum00", "SerNum3")


@pytest.mark.parametrize(
    "text", ["", " ", "None", "N/A", "[N/A]", "Not Specified", "To Be Filled By O.E.M.", "00000000", "0x00", "Default string", *COUNTED]
)
def test_what_firmware_writes_for_nothing(text: str) -> None:
    assert real_serial(text) == ""


@pytest.mark.parametrize(
    "text", ["1324521052681", "F0F9053F", "0x00000001780CC10618000000060080C0", "N4A", "S16604645724353", "123456780", "0123456"]
)
def test_real_serials(text: str) -> None:
    assert real_serial(f" {text} ") == text
