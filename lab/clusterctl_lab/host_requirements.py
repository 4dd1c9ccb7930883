"""What the lab needs of its host, checked before anything starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from clusterctl.model.errors import LabError

_PROGRAMS = {
    "podman": "podman",
    "runc": "runc",
    "mmdebstrap": "mmdebstrap",
    "iptables": "iptables",  # netavark calls it, no package depends on it
    "dpkg-deb": "dpkg",
    "ssh-keygen": "openssh-client",
}
_HELPERS = {"netavark": "netavark"}
_HELPER_DIRS = ("/usr/lib/podman", "/usr/libexec/podman", "/usr/local/lib/podman", "/usr/local/libexec/podman", "/usr/lib/cni")
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


def missing_packages(path: str | None = None, helper_dirs: tuple[str, ...] = _HELPER_DIRS) -> list[str]:
    """Debian packages the lab needs and this machine lacks. `path`: where to look for programs."""
    where = path if path is not None else os.environ.get("PATH", "") + ":" + _SBIN
    programs = [package for program, package in _PROGRAMS.items() if not shutil.which(program, path=where)]
    helpers = [package for name, package in _HELPERS.items() if not any((Path(d) / name).exists() for d in helper_dirs)]
    return programs + helpers


def check_host() -> None:
    """Refuse early where something is missing.

    Raises:
        LabError: with the apt line that puts it right.
    """
    missing = missing_packages()
    if missing:
        raise LabError(
            detail=f"not installed: {', '.join(missing)}",
            hint=f"apt-get install --no-install-recommends {' '.join(missing)}",
        )
