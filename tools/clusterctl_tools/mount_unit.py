"""Mount units of systemd: their names, the settings that a declared mount needs, and the settings of a unit file."""

import re
from typing import Any, Dict, List, Mapping

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
    r"""`/mnt/a-b` is `mnt-a\x2db.mount`, as from `systemd-escape --path --suffix=mount` (systemd.unit(5), string escaping).

    Args:
        path: the mount point.
    """
    name = "-".join(re.sub(r"[^A-Za-z0-9:_.]", _escape, part) for part in path.split("/") if part)
    return re.sub(r"^\.", _escape, name or "-") + ".mount"


def _escape(match: "re.Match[str]") -> str:
    return "".join("\\x{:02x}".format(byte) for byte in match.group(0).encode())


def complete(mount: Mapping[str, Any]) -> Dict[str, Any]:
    """A declared mount with all derived values, as in /etc/clusterctl/storage-client.json."""
    options = [str(option) for option in mount.get("options") or []]
    if mount["kind"] != "generic" and "_netdev" not in options:
        options.append("_netdev")
    if mount.get("nconnect"):
        options.append("nconnect={}".format(mount["nconnect"]))
    if mount.get("rdma_port"):
        rdma = [] if "rdma" in options or "proto=rdma" in options else ["proto=rdma"]
        options += [*rdma, "port={}".format(mount["rdma_port"])]
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


def expected_settings(mount: Mapping[str, Any], service: str) -> Dict[str, str]:
    """The assignments that the unit of a completed mount must have; apart from its description it has no others."""
    before = (["network-online.target"] if mount["network"] else []) + mount["after"]
    settings = {
        "Wants": " ".join([*before, service]),
        "After": " ".join(before),
        "What": mount["source"].replace("%", "%%"),
        "Where": mount["path"],
        "Type": mount["fstype"],
        "Options": ",".join(mount["options"]),
        "TimeoutSec": str(mount["timeout_s"]),
        "WantedBy": "remote-fs.target",
    }
    return {key: value for key, value in settings.items() if value}


def read_settings(text: str) -> Dict[str, str]:
    """The assignments of a unit file; a repeated key has all values, because systemd combines them."""
    found: Dict[str, List[str]] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";")) and key.strip() != "Description":
            found.setdefault(key.strip(), []).append(value.strip())
    return {key: " + ".join(values) for key, values in found.items()}


def difference(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """`Key=found` of every key that differs; empty if none does."""
    keys = sorted(k for k in {*expected, *found} if expected.get(k) != found.get(k))
    return ", ".join("{}={}".format(k, found.get(k, "absent")) for k in keys)
