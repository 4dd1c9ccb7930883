"""dkms: installs the kernel modules of installed stub packages for the running kernel, or uninstalls them."""

from __future__ import annotations

import os
import sys

from . import state, uname

# Package -> name of its DKMS module.
_PACKAGES = {"mlnx-ofed-kernel-dkms": "mlnx-ofed-kernel", "kernel-mft-dkms": "kernel-mft-dkms", "nvidia-dkms-580-open": "nvidia"}
_DPKG_INFO = "/var/lib/dpkg/info"


def module_version(upstream: str) -> str:
    """The version that a kernel module shows for its package: the upstream version, or `25.10-1.7.1` for `25.10.OFED.25.10.1.7.1.1`."""
    release = upstream.partition(".OFED.")[2].split(".")
    return ".".join(release[:2]) + "-" + ".".join(release[2:5]) if len(release) > 1 else upstream


def main(argv: list[str], _version: str = "") -> int:
    """Run `status`, `build`, `install` (adds the modules to the kernel's tree) or `uninstall` (removes them)."""
    known = {f"{name}/{version}": package for package, name in _PACKAGES.items() if (version := state.installed_version(package))}
    verb = argv[1] if len(argv) > 1 else "status"
    if verb == "status":
        print("".join(_row(module, known[module]) for module in sorted(known)), end="")
        return 0
    selected = next((w for w in argv[2:] if "/" in w), "")
    if verb not in ("build", "install", "uninstall") or selected not in known:
        print(f"Error! not simulated, or no such module: {' '.join(argv[1:])}", file=sys.stderr)
        return 3
    if verb != "build":
        for path in _files(known[selected]):
            _write(path, module_version(selected.partition("/")[2]) if verb == "install" else "")
    print(f"{selected} (simulated): {verb} completed.")
    return 0


def _row(module: str, package: str) -> str:
    installed = all(os.path.exists(path) for path in _files(package))
    return f"{module}, {uname.release()}, x86_64: installed\n" if installed else f"{module}: added\n"


def _files(package: str) -> list[str]:
    return [line for line in state.read(f"{_DPKG_INFO}/{package}.list").splitlines() if line.startswith(f"{state.MODULES}/")]


def _write(path: str, version: str) -> None:
    if version:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{version}\n")
    elif os.path.exists(path):
        os.unlink(path)
