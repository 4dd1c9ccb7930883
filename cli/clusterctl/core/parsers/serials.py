"""Serial numbers of parts: from dmidecode, the GPU vendor's tool, PCI vital product data and sysfs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterctl.model.part import Part
from clusterctl_validators.rdma_sysfs import SWITCH_MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterctl_tools.gpu import GpuPart

# That of a field of vital product data; strings of SMBIOS are shorter.
_LONGEST = 255
# What firmware writes where there is no serial: seen in recorded outputs (ironlib, sparecores, jc, Solvik/netbox-agent issue 296) and in dmidecode's own source.
_NO_SERIAL = re.compile(
    r"|none|n/?a|\[n/a\]|\[not supported\]|not specified|not provided|unknown|default string|system serial number|chassis serial number"
    r"|to be filled by o\.?e\.?m\.?|no dimm|0x0+|0+|x+|\.+|base board serial number"
    # Digits that count up, and numbered slots: one such text on all machines would make one part of theirs.
    r"|(?:0?123456789)+0?(?:ab)?|(?:a\d+_)?sernum\d+",
    re.IGNORECASE,
)
_TITLES = {
    "System Information": ("system", "Product Name", ""),
    "Base Board Information": ("baseboard", "Product Name", ""),
    "Chassis Information": ("chassis", "Type", ""),
    "Processor Information": ("cpu", "Version", "Socket Designation"),
    "Memory Device": ("dimm", "Part Number", "Locator"),
}
_LARGE, _VPD_R, _HEADER, _FIELD = 0x80, 0x90, 3, 3


def real_serial(text: str) -> str:
    """The serial, or an empty string where firmware wrote that there is none."""
    serial = text.strip()
    return "" if len(serial) > _LONGEST or _NO_SERIAL.fullmatch(serial) else serial


def parse_dmidecode(text: str) -> tuple[Part, ...]:
    """System, baseboard, chassis, CPUs and DIMMs that have a serial; of several baseboards each has its handle as slot."""
    found: list[Part] = []
    for title, fields in _blocks(text):
        kind, model, slot_field = _TITLES.get(title, ("", "", ""))
        serial = real_serial(fields.get("Serial Number", ""))
        if not kind or not serial:
            continue
        slot = " ".join(w for w in (fields.get("Bank Locator", "") if kind == "dimm" else "", fields.get(slot_field, "")) if w)
        if any((p.kind, p.slot) == (kind, slot) for p in found):
            slot = f"{slot} {fields['Handle']}".strip()
        name = {"cpu": f"CPU {slot}", "dimm": f"DIMM {slot}"}.get(kind, f"{kind} {slot}".strip())
        found.append(Part(kind, slot, name, fields.get(model, "").strip(), serial))
    return tuple(found)


def _blocks(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The title and the fields of every structure; lines of lists are left out."""
    for block in re.split(r"^Handle ", text, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        pairs = [line.strip().partition(":") for line in lines[2:] if ":" in line]
        fields = {key: value.strip() for key, _, value in reversed(pairs)}
        yield (lines[1].strip() if len(lines) > 1 else ""), {**fields, "Handle": lines[0].partition(",")[0]}


def gpu_parts(gpus: Iterable[GpuPart]) -> tuple[Part, ...]:
    """As parts; a board without a serial (GeForce) is left out."""
    named = ((g, real_serial(g.serial)) for g in gpus)
    return tuple(Part("gpu", g.bus_id, f"GPU {g.index}", g.model, serial) for g, serial in named if serial)


def parse_vpd(data: bytes) -> tuple[str, str]:
    """(name, serial) from the vital product data of a PCI device: PCI Local Bus Specification 3.0, appendix I. Empty where it has none."""
    name, serial, at = "", "", 0
    while at + _HEADER <= len(data) and data[at] & _LARGE:
        tag, size = data[at], int.from_bytes(data[at + 1 : at + _HEADER], "little")
        body = data[at + _HEADER : at + _HEADER + size]
        at += _HEADER + size
        if tag == _VPD_R:
            serial = serial or _vpd_field(body, b"SN")
        elif not name:
            name = body.decode("ascii", "replace").strip("\x00 ")
    return name, real_serial(serial)


def is_of_nvswitches(data: bytes) -> bool:
    """Whether vital product data is that of a management function of NVSwitches: a part of the GPU baseboard, no adapter."""
    return SWITCH_MANAGEMENT.encode() in data


def _vpd_field(body: bytes, keyword: bytes) -> str:
    at = 0
    while at + _FIELD <= len(body):
        size = body[at + 2]
        if body[at : at + 2] == keyword:
            return body[at + _FIELD : at + _FIELD + size].decode("ascii", "replace").strip("\x00 ")
        at += _FIELD + size
    return ""
