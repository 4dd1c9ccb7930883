"""lscpu and lsblk of util-linux, as JSON: processors, and NVMe disks without the system."""

import json
from typing import Any, Dict, Iterator, List, Optional

LSCPU = ("lscpu", "-J")
LSBLK = ("lsblk", "-J", "-o", "NAME,TYPE,MOUNTPOINT")
_SYSTEM_TARGETS = ("/", "/boot", "/boot/efi", "/usr", "/var", "[SWAP]")


class UnreadableInventoryError(ValueError):
    """The text is not the tool's output on a Linux node."""


def parse_lscpu(text: str) -> Dict[str, str]:
    """Field -> value, without the colon, including nested fields; `-` is not a value. Raises UnreadableInventoryError if the text is not from `lscpu -J`.

    On Arm, lscpu shows `-` for the sockets, and the cores of a cluster, where the firmware does not describe them (lscpu.c, is_cluster).
    """
    pairs = ((str(e["field"]).rstrip(":"), str(e.get("data") or "")) for e in _walk(_load(text, "lscpu")))
    return {field: value for field, value in pairs if value != "-"}


def parse_nvme_data_disks(text: str) -> List[str]:
    """The NVMe disks of `lsblk -J -o NAME,TYPE,MOUNTPOINT` without a system file system, those on a network included."""
    disks = [d for d in _load(text, "blockdevices") if d.get("type") == "disk" and "nvme" in str(d.get("name"))]
    return [str(d["name"]) for d in disks if not any(e.get("mountpoint") in _SYSTEM_TARGETS for e in _walk([d]))]


def parse_nvme_system_disks(text: str) -> List[str]:
    """The other NVMe disks of that output: those with a system file system."""
    data = parse_nvme_data_disks(text)
    names = [str(d.get("name")) for d in _load(text, "blockdevices") if d.get("type") == "disk"]
    return [name for name in names if "nvme" in name and name not in data]


def _load(text: str, key: str) -> List[Dict[str, Any]]:
    try:
        entries = json.loads(text)[key]
    except (ValueError, KeyError, TypeError) as e:
        raise UnreadableInventoryError("no JSON with {!r}: {}".format(key, text.strip()[:80] or "empty")) from e
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise UnreadableInventoryError("{!r} is not a list of objects".format(key))
    return entries


def _walk(entries: Optional[List[Dict[str, Any]]]) -> Iterator[Dict[str, Any]]:
    for entry in entries or []:
        yield entry
        yield from _walk(entry.get("children"))
