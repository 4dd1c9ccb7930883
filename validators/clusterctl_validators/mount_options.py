"""Compare declared mount options with those in force, as far as the kernel shows them in a comparable form."""

from typing import Dict, List, Sequence

_FLAGS = ("ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "allow_other", "hard", "soft")
_OPPOSITES = {"rw": "ro", "suid": "nosuid", "dev": "nodev", "exec": "noexec", "atime": "noatime"}
# Without flock, locks of one node do not hold on the others; with localflock they hold on that node only (ll_show_options of Lustre).
_LUSTRE = frozenset(("localflock", "flock"))
_NFS = ("vers", "proto", "nconnect", "sec")
# The server decides these.
_NEGOTIATED = ("rsize", "wsize")


def wrong_options(kind: str, declared: Sequence[str], effective: Sequence[str]) -> List[str]:
    """The options in force that contradict declared ones, e.g. `nconnect=1`; empty if none does."""
    shown = _pairs(effective)
    wrong = []
    for option in declared:
        key, _, value = option.partition("=")
        if key in _FLAGS and key not in shown:
            wrong.append("no " + key)
        elif key in _OPPOSITES and _OPPOSITES[key] in shown:
            wrong.append(_OPPOSITES[key])
        elif kind == "lustre" and _lustre(key, shown):
            wrong.append(_lustre(key, shown))
        elif kind == "nfs":
            found = _nfs(key, value, shown)
            if found:
                wrong.append(found)
    return wrong


def negotiated_down(declared: Sequence[str], effective: Sequence[str]) -> Dict[str, str]:
    """`{rsize: found}` of the sizes that the server reduced."""
    shown = _pairs(effective)
    requested = {k: v for k, v in _pairs(declared).items() if k in _NEGOTIATED}
    return {k: shown.get(k, "none") for k, v in requested.items() if shown.get(k) != v}


def _lustre(key: str, shown: Dict[str, str]) -> str:
    if key in _LUSTRE:
        return "" if key in shown else "no " + key
    return next((option for option in _LUSTRE if option in shown), "") if key == "noflock" else ""


def _nfs(key: str, value: str, shown: Dict[str, str]) -> str:
    if key in ("tcp", "udp", "rdma"):
        key, value = "proto", key
    key = "vers" if key == "nfsvers" else key
    if key not in _NFS:
        return ""
    # The kernel does not show nconnect=1.
    found = shown.get(key, "1" if key == "nconnect" else "none")
    same = found == value
    if key == "vers":
        same = same or found.split(".")[0] == value
    if key == "proto":
        # tcp6 over IPv6.
        same = found in (value, value + "6")
    if key == "sec":
        # Of a list, the one that the server has (nfs(5)).
        same = found in value.split(":")
    return "" if same else "{}={}".format(key, found)


def _pairs(options: Sequence[str]) -> Dict[str, str]:
    return {key: value for key, _, value in (option.partition("=") for option in options)}
