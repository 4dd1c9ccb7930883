"""Writes a site of any size as YAML: racks of nodes with addresses, slots, BMCs and rack variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_RACKS_PER_FILE = 25


def write_site(folder: Path, *, nodes: int, racks: int, profile: str) -> Path:
    """Write an inventory layer to `folder` and return it. Nodes have names such as `r001-n01`."""
    folder.mkdir(parents=True)
    (folder / "groups.yml").write_text(_groups(racks, profile))
    for start in range(0, racks, _RACKS_PER_FILE):
        lines = ["all:", "  children:"]
        for rack in range(start, min(start + _RACKS_PER_FILE, racks)):
            lines += _rack(rack, nodes // racks + (rack < nodes % racks))
        (folder / f"racks-{start:03d}.yml").write_text("\n".join(lines) + "\n")
    return folder


def _groups(racks: int, profile: str) -> str:
    members = "".join(f"        rack_{r:03d}:\n" for r in range(racks))
    return f"all:\n  children:\n    {profile}:\n      children:\n{members}"


def _rack(rack: int, nodes: int) -> list[str]:
    lines = [
        f"    rack_{rack:03d}:",
        f"      vars: {{rack: rack-{rack:03d}, row: row-{rack // 20}, su: su-{rack // 4}, leaf: su-{rack // 4}}}",
        "      hosts:",
    ]
    for n in range(1, nodes + 1):
        address = f"10.{rack // 100}.{rack % 100}.{n}"
        lines.append(f"        r{rack:03d}-n{n:02d}:")
        lines.append(
            f"          {{ansible_host: {address}, rack_slot: {n}, serial: S{rack:03d}{n:02d}, bmc_url: 'https://10.9.{rack % 256}.{n}'}}"
        )
    return lines
