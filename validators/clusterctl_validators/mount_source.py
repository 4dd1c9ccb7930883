"""Compare the declared source of a mount with the one that the kernel shows, which mount helpers write in a form of their own."""

import re
from ipaddress import ip_address
from typing import List, Tuple

# name@fsid.filesystem=/path
_CEPH = re.compile(r"([^@/]+)@([^./]*)\.([^=/]+)=(.*)")


def same_source(kind: str, declared: str, shown: str) -> bool:
    """Whether both are the same. What the mount helper looked up, such as the address of a host, cannot be compared."""
    if _plain(declared) == _plain(shown):
        return True
    if kind == "lustre":
        return _same_lustre(declared, shown)
    return kind == "cephfs" and _same_ceph(declared, shown)


def _plain(source: str) -> str:
    return re.sub("^/dev/", "", source.rstrip("/") or source)


def _same_lustre(declared: str, shown: str) -> bool:
    """mount.lustre replaces names of hosts by addresses, and leaves out the number of a first network (convert_hostnames, libcfs_net2str_r)."""
    (wanted, path), (found, shown_path) = _lustre(declared), _lustre(shown)
    # A name in the declaration stands for whatever address is shown in its place.
    known = [(host if _is_address(host) or i >= len(found) else found[i][0], network) for i, (host, network) in enumerate(wanted)]
    return (known, path) == (found, shown_path)


def _lustre(source: str) -> Tuple[List[Tuple[str, str]], str]:
    """Address and network of each server, and the path. A server without a network is on tcp."""
    servers, _, path = source.partition(":/")
    rows = [server.partition("@") for server in re.split("[,:]", servers)]
    return [(host, re.sub(r"(?<=[a-z])0$", "", network) or "tcp") for host, _, network in rows], path.strip("/")


def _same_ceph(declared: str, shown: str) -> bool:
    """mount.ceph fills in cluster and monitors from ceph.conf; for a kernel before 5.17 it writes the older form, `MONITORS:/path`."""
    wanted, found = _CEPH.fullmatch(declared), _CEPH.fullmatch(shown)
    if wanted and found:
        same = wanted.group(1, 3) == found.group(1, 3) and wanted.group(4).strip("/") == found.group(4).strip("/")
        return same and wanted.group(2) in ("", found.group(2))
    named, separator, path = ("", ":/", wanted.group(4)) if wanted else declared.partition(":/")
    monitors, shown_separator, shown_path = shown.partition(":/")
    if not separator or not shown_separator or path.strip("/") != shown_path.strip("/"):
        return False
    hosts = _monitors(named)
    return not all(map(_is_address, hosts)) or hosts == _monitors(monitors)


def _monitors(text: str) -> List[str]:
    """The hosts of a list of monitors, without their ports."""
    return sorted(re.sub(r"(?<=[\].\w]):\d+$", "", host).strip("[]") for host in text.split(","))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
