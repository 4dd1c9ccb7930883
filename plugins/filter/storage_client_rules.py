"""Contradictions in the declared storage mounts, as pure functions.

The role checks them before it changes a node, `clusterctl profile check` without access to a node.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Problem = tuple[str, str]

KINDS = ("nfs", "lustre", "weka", "gpfs", "beegfs", "cephfs", "juicefs", "generic")
_PATH = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+")
_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")
_WORD = re.compile(r"[^\s]+")
_OPTION = re.compile(r"[^\s,%\"'\\]+")
_UNIT = re.compile(r"[A-Za-z0-9@:_.\\-]+\.(service|target|mount|socket)")
_MODULE = re.compile(r"[A-Za-z0-9_-]+")
_MAX_NCONNECT = 16
# Of the client that supports remoteports, VAST's (patch 5/5 of "sunrpc: Allow specifying a vector of IP addresses", linux-nfs, 2021-01-21); 32 and 56 are in
# public use. That 64 is the most is not confirmed.
_MAX_MULTIPATH_NCONNECT = 64
_MAX_TIMEOUT_S = 600
# Their folder in /sys/class/bdi has a name without the device of the mount: `ceph-1` (fs/ceph/super.c), `fs1-ffff9f7e` of Lustre (llite_lib.c), which also turns
# the kernel's read-ahead off.
_OTHER_READ_AHEAD = {"cephfs": "the mount option rasize", "lustre": "llite.*.max_read_ahead_mb of lctl"}


def contradictions(variables: Mapping[str, Any]) -> list[Problem]:
    """(variable path, message) of each contradiction."""
    return [*_mounts(variables), *_packages(variables), *_modules(variables), *_tunables(variables), *_hugepages(variables)]


def problem_lines(variables: Mapping[str, Any]) -> list[str]:
    """The contradictions as lines, for the role.

    Args:
        variables: the role's variables, and hugepages_pages, by name.
    """
    return [f"{where}: {what}" for where, what in contradictions(variables)]


def _mounts(v: Mapping[str, Any]) -> Iterator[Problem]:
    paths = [m["path"] for m in v["storage_client_mounts"]]
    pinned = {p["kind"] for p in v["storage_client_packages"]}
    for i, mount in enumerate(v["storage_client_mounts"]):
        at, kind, path = f"storage_client_mounts[{i}]", mount["kind"], mount["path"]
        if kind not in KINDS:
            yield f"{at}.kind", f"{kind} is not one of {', '.join(KINDS)}"
            continue
        if not _PATH.fullmatch(path):
            yield f"{at}.path", f"{path!r} is not a plain absolute path"
        if paths.index(path) != i:
            yield f"{at}.path", f"{path} is declared twice"
        if kind != "generic" and kind not in pinned:
            yield f"{at}.kind", f"no package of {kind} is pinned (storage_client_packages)"
        if _PASSWORD.search(mount["source"]):
            yield f"{at}.source", "contains a password; every user can read unit files"
        yield from _unit(at, mount)
        yield from _transport(at, mount)
    names = [m["name"] for m in v["storage_client_mounts"]]
    for i, name in enumerate(names):
        if names.index(name) != i or not _WORD.fullmatch(name):
            yield f"storage_client_mounts[{i}].name", f"{name!r} is declared twice or has blanks"


def _unit(at: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """Values that a unit file cannot contain or would interpret differently."""
    if mount["kind"] == "generic" and not mount.get("fstype"):
        yield f"{at}.fstype", "a generic mount needs its type"
    if mount.get("fstype") and not re.fullmatch(r"[A-Za-z0-9_.-]+", mount["fstype"]):
        yield f"{at}.fstype", f"{mount['fstype']!r} is not a file system type"
    if not _WORD.fullmatch(mount["source"]):
        yield f"{at}.source", f"{mount['source']!r} is empty or has blanks"
    yield from _options(at, mount)
    for unit in mount.get("after") or []:
        if not _UNIT.fullmatch(unit):
            yield f"{at}.after", f"{unit!r} is not a unit"
    timeout_s = mount.get("timeout_s")
    if timeout_s is not None and not 1 <= int(timeout_s) <= _MAX_TIMEOUT_S:
        yield f"{at}.timeout_s", f"{timeout_s} is not from 1 to {_MAX_TIMEOUT_S}"


def _options(at: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    for option in mount.get("options") or []:
        if not _OPTION.fullmatch(str(option)):
            yield f"{at}.options", f"{option!r} is not a single mount option"
        if re.match(r"(nofail|noauto|x-systemd\..*)$", str(option)):
            yield f"{at}.options", f"{option} is for fstab and has no effect in a unit; use required, after and timeout_s"
        if re.match(r"(secret|password|pass)=", str(option)):
            yield f"{at}.options", "contain a secret; every user can read unit files. Use a file instead"


def _transport(at: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    options = dict(o.partition("=")[::2] for o in mount.get("options") or [])
    nconnect, port = int(mount.get("nconnect") or 0), int(mount.get("rdma_port") or 0)
    proto = options.get("proto", "")
    if mount["kind"] != "nfs":
        if nconnect or port:
            yield at, f"nconnect and rdma_port are for nfs, not for {mount['kind']}"
        return
    if "nconnect" in options or ("port" in options and port):
        yield f"{at}.options", "declare nconnect and the RDMA port with nconnect and rdma_port instead"
    most = _MAX_MULTIPATH_NCONNECT if "remoteports" in options else _MAX_NCONNECT
    if mount.get("nconnect") is not None and not 1 <= nconnect <= most:
        yield f"{at}.nconnect", f"{nconnect} is not from 1 to {most}"
    if port and (proto.startswith(("tcp", "udp")) or options.keys() & {"tcp", "udp"}):
        yield f"{at}.rdma_port", "RDMA is declared, but the options select another transport"
    if not port and (proto.startswith("rdma") or "rdma" in options):
        yield f"{at}.options", "select RDMA, but rdma_port is not declared"
    if not re.fullmatch(r"[^\s:]+:/\S*|\[[0-9A-Fa-f:]+\]:/\S*", mount["source"]):
        yield f"{at}.source", f"{mount['source']!r} is not HOST:/PATH"


def _packages(v: Mapping[str, Any]) -> Iterator[Problem]:
    names = [p["name"] for p in v["storage_client_packages"]]
    for i, name in enumerate(names):
        if names.index(name) != i:
            yield f"storage_client_packages[{i}].name", f"{name} is declared twice"


def _modules(v: Mapping[str, Any]) -> Iterator[Problem]:
    for module, parameters in v["storage_client_module_parameters"].items():
        at = f"storage_client_module_parameters.{module}"
        if not _MODULE.fullmatch(module) or not isinstance(parameters, dict) or not parameters:
            yield at, "is not a module with its parameters"
            continue
        for name, value in parameters.items():
            if not _MODULE.fullmatch(str(name)) or re.search(r'[\n"#]', str(value)) or not str(value):
                yield f"{at}.{name}", f"{value!r} cannot be written to modprobe.d"


def _tunables(v: Mapping[str, Any]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    kind_of = {m["path"]: m["kind"] for m in v["storage_client_mounts"]}
    kinds = set(kind_of.values())
    for i, tunable in enumerate(v["storage_client_tunables"]):
        at, kind, name = f"storage_client_tunables[{i}]", tunable["kind"], tunable["name"]
        if (kind, name) in seen:
            yield f"{at}.name", f"{name} is declared twice"
        seen.add((kind, name))
        if kind == "read_ahead_kib" and (name not in kind_of or not str(tunable["value"]).isdigit()):
            yield f"{at}.name", f"{name} with {tunable['value']} is not a declared mount with a number of KiB"
        elif kind == "read_ahead_kib" and kind_of[name] in _OTHER_READ_AHEAD:
            yield f"{at}.name", f"{name} is {kind_of[name]}, whose read-ahead is set by {_OTHER_READ_AHEAD[kind_of[name]]}"
        if kind == "lctl" and "lustre" not in kinds:
            yield f"{at}.kind", "lctl is for lustre, but no lustre mount is declared"
        if kind == "sysctl" and not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_/-]+)+", name):
            yield f"{at}.name", f"{name!r} is not a sysctl"


def _hugepages(v: Mapping[str, Any]) -> Iterator[Problem]:
    rows = [(p["size"], int(p["node"])) for p in v["storage_client_hugepages"]]
    for i, (size, node) in enumerate(rows):
        if (size, node) in rows[:i]:
            yield f"storage_client_hugepages[{i}]", f"{size} on node {node} is declared twice"
    if "hugepages_pages" not in v:
        return
    allocated = {(p["size"], int(p["node"])): int(p["count"]) for p in v["hugepages_pages"]}
    for i, page in enumerate(v["storage_client_hugepages"]):
        count = allocated.get((page["size"], int(page["node"])), 0)
        if count < int(page["count"]):
            allocation = f"hugepages_pages has {count} of {page['size']} on node {page['node']}"
            yield f"storage_client_hugepages[{i}]", f"needs {page['count']}, but {allocation}"


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"storage_client_problems": problem_lines}
