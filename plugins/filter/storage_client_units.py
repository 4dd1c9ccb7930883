"""Declared mounts in the form that their units and the script `clusterctl-storage-client` need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S = 30
_FSTYPES = {
    "nfs": "nfs",
    "lustre": "lustre",
    "weka": "wekafs",
    "gpfs": "gpfs",
    "beegfs": "beegfs",
    "cephfs": "ceph",
    "juicefs": "juicefs",
}


def unit_name(path: str) -> str:
    r"""`/mnt/a-b` is `mnt-a\x2db.mount`, as from `systemd-escape --path --suffix=mount`."""
    return "-".join(re.sub(r"[^A-Za-z0-9:_.]", _escape, part) for part in path.strip("/").split("/")) + ".mount"


def _escape(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match[0].encode())


def mount_options(mount: Mapping[str, Any]) -> list[str]:
    """The declared options plus those derived from kind, nconnect and rdma_port."""
    options = [str(option) for option in mount.get("options") or []]
    if mount["kind"] != "generic" and "_netdev" not in options:
        options.append("_netdev")
    if mount.get("nconnect"):
        options.append(f"nconnect={mount['nconnect']}")
    if mount.get("rdma_port"):
        rdma = [] if "rdma" in options or "proto=rdma" in options else ["proto=rdma"]
        options += [*rdma, f"port={mount['rdma_port']}"]
    return options


def complete(mount: Mapping[str, Any]) -> dict[str, Any]:
    """A declared mount with all derived values."""
    options = mount_options(mount)
    return {
        "name": mount["name"],
        "kind": mount["kind"],
        "source": mount["source"],
        "path": mount["path"],
        "unit": unit_name(mount["path"]),
        "fstype": mount.get("fstype") or _FSTYPES[mount["kind"]],
        "options": options,
        "network": "_netdev" in options,
        "timeout_s": int(mount.get("timeout_s") or _TIMEOUT_S),
        "after": list(mount.get("after") or []),
        "required": mount.get("required") is not False,
    }


def settings(declared: Mapping[str, Any]) -> dict[str, Any]:
    """The settings file of the script, from the role's variables."""
    modules = declared["storage_client_module_parameters"]
    return {
        "mounts": [complete(mount) for mount in declared["storage_client_mounts"]],
        "module_parameters": {m: {name: running(value) for name, value in p.items()} for m, p in modules.items()},
        "tunables": [{k: str(t[k]) for k in ("kind", "name", "value")} for t in declared["storage_client_tunables"]],
    }


def running(value: object) -> str:
    """A module parameter as /sys shows it."""
    return ("Y" if value else "N") if isinstance(value, bool) else str(value)


def parameter(value: object) -> str:
    """A module parameter in modprobe syntax."""
    text = running(value)
    return f'"{text}"' if " " in text else text


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"storage_client_settings": settings, "storage_client_parameter": parameter}
