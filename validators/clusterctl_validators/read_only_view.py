"""A read-only view of the node: a private copy of its mounts for this process and its children.

A guard against mistakes: a check that writes a file, a sysctl or a device attribute fails with EROFS. It does not restrict daemons that a check
calls, nor a program that leaves the view. No file system is remounted and no server contacted: only this process's mounts carry the flag.
"""

import ctypes
import errno
import os
from pathlib import Path
from typing import Iterable, List, Sequence

READ_ONLY = "read-only"

_CLONE_NEWNS = 0x00020000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_SLAVE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY = 0x1
# The same number on every architecture that has GPUs.
_MOUNT_SETATTR = 442
_PRIVATE_TMP = "/tmp"  # noqa: S108 an empty private one


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


class NoViewError(Exception):
    """The view cannot be created here; the text gives the reason."""


def enter(writable: Iterable[str] = (), keep: str = "") -> str:
    """Move this process and its future children into the view; this cannot be undone.

    Args:
        writable: glob patterns of files that tools must open for writing to read from them; matching files stay writable.
        keep: a file that is still needed; if it is below /tmp, /tmp is left in place.

    Returns:
        "read-only", with the writable exceptions; or "not enforced (REASON)".
    """
    if os.geteuid() != 0:
        return "not enforced (not root)"
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        _check_kernel(libc)
        return _described(_enter(libc, writable, keep))
    except NoViewError as e:
        return "not enforced ({})".format(e)


def _check_kernel(libc: ctypes.CDLL) -> None:
    """Test that the call exists: then an empty request gives EINVAL."""
    try:
        _call(libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, None, ctypes.c_size_t(0)), "mount_setattr", errno.EINVAL)
    except NoViewError as e:
        raise NoViewError("{}; requires Linux 5.12".format(e)) from e


def _enter(libc: ctypes.CDLL, writable: Iterable[str], keep: str) -> List[str]:
    _call(libc.unshare(_CLONE_NEWNS), "unshare")
    # A slave, not private: unmounts outside must propagate, or a hung check would keep the mount busy; automounts must appear here too.
    _mount(libc, "", "/", _MS_REC | _MS_SLAVE)
    found_by_pattern = {pattern: sorted(map(str, Path("/").glob(pattern.lstrip("/")))) for pattern in writable}
    paths = [path for found in found_by_pattern.values() for path in found]
    for path in paths:
        _mount(libc, path, path, _MS_BIND)
    own_tmp = not os.path.realpath(keep).startswith(_PRIVATE_TMP + "/")
    if own_tmp:
        _mount(libc, "tmpfs", _PRIVATE_TMP, _MS_NOSUID | _MS_NODEV, b"tmpfs")
    _set_attributes(libc, "/", _AT_RECURSIVE, _MountAttr(attr_set=_ATTR_RDONLY))
    for path in paths + [_PRIVATE_TMP] * own_tmp:
        _set_attributes(libc, path, 0, _MountAttr(attr_clr=_ATTR_RDONLY))
    return [pattern for pattern, found in found_by_pattern.items() if found]


def _described(exceptions: Sequence[str]) -> str:
    return "{} (except {})".format(READ_ONLY, ", ".join(exceptions)) if exceptions else READ_ONLY


def _mount(libc: ctypes.CDLL, source: str, target: str, flags: int, kind: bytes = b"") -> None:
    options = b"size=16m,mode=1777" if kind else None
    result = libc.mount(os.fsencode(source), os.fsencode(target), kind or None, ctypes.c_ulong(flags), options)
    _call(result, "mount {}".format(target))


def _set_attributes(libc: ctypes.CDLL, path: str, flags: int, attributes: _MountAttr) -> None:
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    result = libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), flags, ctypes.byref(attributes), size)
    _call(result, "mount_setattr {}".format(path))


def _call(result: int, what: str, fine: int = 0) -> None:
    number = ctypes.get_errno()
    if result != 0 and number != fine:
        raise NoViewError("{}: {}".format(what, os.strerror(number)))
