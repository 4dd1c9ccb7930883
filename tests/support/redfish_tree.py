"""Redfish services as resources by path: fictitious ones from tests/cases/bios and recorded ones from real servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.plain_yaml import load_yaml
from support.recorded import recorded
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

Tree = dict[str, dict[str, Any]]
_CASES = ROOT / "tests" / "cases" / "bios"


def invented(name: str = "preset_locks") -> Tree:
    """A small fictitious service."""
    tree: Tree = load_yaml((_CASES / f"{name}.yml").read_text())
    return tree


def recorded_tree(name: str) -> Tree:
    """The recorded service `redfish/<name>` of a real server: a folder with an index.json per resource, or a single Bios resource."""
    folder = recorded(f"redfish/{name}")
    if folder.is_file():
        return lone_bios(folder)
    return {f"/{file.parent.relative_to(folder).as_posix()}": read_resource(file) for file in folder.rglob("index.json")}


def lone_bios(file: Path) -> Tree:
    """A service around one recorded Bios resource, without linked resources and registry."""
    bios = read_resource(file)
    system = str(bios["@odata.id"]).rsplit("/", 1)[0]
    collection = system.rsplit("/", 1)[0]
    vendor = "Lenovo" if "lenovo" in file.name else "Dell"
    return {
        "/redfish/v1": {"Vendor": vendor, "Systems": {"@odata.id": collection}},
        collection: {"Members": [{"@odata.id": system}]},
        system: {"Id": system.rsplit("/", 1)[1], "Bios": {"@odata.id": bios["@odata.id"]}},
        str(bios["@odata.id"]): bios,
    }


def read_resource(file: Path) -> dict[str, Any]:
    """A recorded resource; some start with a byte order mark."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8-sig"))
    return data
