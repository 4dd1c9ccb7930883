"""The programs that the lab needs on its host."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from clusterctl.model.errors import LabError

_PROGRAMS = {
    "podman": "podman",
    "runc": "runc",
    "mmdebstrap": "mmdebstrap",
    "iptables": "iptables",  # netavark calls it, but does not depend on its package
    "dpkg-deb": "dpkg",
    "ssh-keygen": "openssh-client",
}
_HELPERS = {"netavark": "netavark"}
_HELPER_DIRS = ("/usr/lib/podman", "/usr/libexec/podman", "/usr/local/lib/podman", "/usr/local/libexec/podman", "/usr/lib/cni")
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


def missing_packages(path: str | None = None, helper_dirs: tuple[str, ...] = _HELPER_DIRS) -> list[str]:
    """Debian packages that the lab needs and this host lacks.

    Args:
        path: search path for programs; default: PATH and the sbin folders.
        helper_dirs: folders in which podman looks for netavark.
    """
    where = path if path is not None else os.environ.get("PATH", "") + ":" + _SBIN
    programs = [package for program, package in _PROGRAMS.items() if not shutil.which(program, path=where)]
    helpers = [package for name, package in _HELPERS.items() if not any((Path(d) / name).exists() for d in helper_dirs)]
    return programs + helpers


def check_host() -> None:
    """Check that all required programs are installed.

    Raises:
        LabError: some are missing; the hint is the apt command that installs them.
    """
    missing = missing_packages()
    if missing:
        raise LabError(
            detail=f"not installed: {', '.join(missing)}",
            hint=f"apt-get install --no-install-recommends {' '.join(missing)}",
        )
