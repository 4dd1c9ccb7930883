"""/proc/self/mounts: whether the root file system lives in memory, so that no boot keeps what is written to it."""

import re
from typing import Dict, List, Tuple

# Assumed: the stateless root of xCAT has one of these types, as that of Warewulf; no mount table of such a node was seen.
_IN_MEMORY = ("tmpfs", "ramfs", "rootfs")
_ZRAM = "/dev/zram"
_OVERLAY = "overlay"
VOLATILE_TYPES = (*_IN_MEMORY, _OVERLAY)
_Mount = Tuple[str, str, str, str]


def volatile_type(mounts: str) -> str:
    """The type of a root file system in memory; empty for one on a disk or a server, and where it is not known.

    `rootfs` or `tmpfs` of Warewulf and xCAT (wwinit/init: WWROOT), an overlay whose upper layer is in memory (confluent's diskless images, dracut's LiveOS).
    """
    found = [m for m in map(_mount, mounts.splitlines()) if m[1]]
    # the kernel's first root stays in the list of old kernels; the last one is on top
    root = next((m for m in reversed(found) if m[1] == "/"), None)
    if root is None:
        return ""
    if root[2] == _OVERLAY:
        return _OVERLAY if _in_memory(_upper(root[3]), found) else ""
    return root[2] if root[2] in _IN_MEMORY else ""


def _mount(line: str) -> _Mount:
    words = [re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), word) for word in line.split(" ")]
    device, target, kind, options = (*words, "", "", "")[:4]
    return device, target, kind, options


def _upper(options: str) -> str:
    named: Dict[str, str] = {name: value for name, _, value in (option.partition("=") for option in options.split(","))}
    return named.get("upperdir", "")


def _in_memory(path: str, mounts: List[_Mount]) -> bool:
    """Whether the mount that holds a path is in memory; one that is not visible from the booted root is not known."""
    holding = [m for m in mounts if m[1] != "/" and (path + "/").startswith(m[1].rstrip("/") + "/")]
    if not path or not holding:
        return False
    device, _, kind, _ = max(reversed(holding), key=lambda m: len(m[1]))
    return kind in _IN_MEMORY or device.startswith(_ZRAM)
