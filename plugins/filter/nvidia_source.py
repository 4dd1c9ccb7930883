"""Which repository the packages of a driver come from, and what follows from it, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# 580.126.20-0ubuntu0.24.04.2; NVIDIA's own are 580.126.20-1ubuntu1 and 580.65.06-0ubuntu1.
_UBUNTU_REVISION = re.compile(r"-\S*ubuntu\d+(\.\d+)?~?\S*\d\d\.\d\d")
_WORDS = {"cuda": "NVIDIA's repository", "ubuntu": "Ubuntu's archive"}
_COMPONENTS = ("driver", "fabric_manager", "imex", "persistenced")
# Packages of the driver itself, which both sources have in the same or in other packages.
_DRIVER = re.compile(
    r"(nvidia-(driver|dkms|headless|open|utils|compute-utils|kernel-common|kernel-source|firmware|fabricmanager|imex|persistenced)"
    r"|libnvidia-(compute|cfg1|common|decode|encode|extra|fbc1|gl|gpucomp|nscq))(-|$)"
)
# NVIDIA's packages for EL are kmod-nvidia-open-dkms and the like.
_MODULE = re.compile(r"(linux-modules-nvidia|nvidia-dkms|kmod-nvidia)(-|$)")
_JOINED = {"Debian": "=", "RedHat": "-"}
_ROW = re.compile(r"^(\S+)\t(\S+)\t\S+\t(\S+)$", re.MULTILINE)
_ABSENT = ("not-installed", "config-files")


def source_errors(source: str, kernel_module: str, peermem: bool, packages: Sequence[Mapping[str, str]]) -> list[str]:
    """The reasons to refuse these packages of a source, one line each.

    Args:
        source: `cuda` or `ubuntu`.
        kernel_module: `open` or `proprietary`.
        peermem: nvidia-peermem is loaded at boot.
        packages: `component`, `name`, `version` of each package.
    """
    errors = []
    for package in packages:
        found = _source_of(package["version"])
        if package["component"] in _COMPONENTS and found != source:
            name = f"{package['name']} {package['version']}"
            errors.append(f"{name} is of {_WORDS[found]}, but nvidia_driver_source is {source}")
    return [*errors, *_kernel_module_errors(source, kernel_module, peermem, packages), *_flavour_errors(source, packages)]


def installed_of_other_source(source: str, packages: Sequence[Mapping[str, str]], listed: str) -> list[str]:
    """The installed packages of the driver that are not of `source`, as `name version`: the other driver has the same files.

    A package of another name counts if its version is that of such a driver (libxnvctrl0, xserver-xorg-video-nvidia-580). A declared one does not:
    apt replaces it by that of the source.

    Args:
        source: `cuda` or `ubuntu`.
        packages: `name` of each declared package.
        listed: lines of dpkg-query with tabs: name, version, what is wanted, status.
    """
    declared = {package["name"] for package in packages}
    rows = [row for row in _ROW.findall(listed) if row[0] not in declared and row[-1] not in _ABSENT]
    of_modules = [f"{name} {version}" for name, version, _ in rows if name.startswith("linux-modules-nvidia-") and source != "ubuntu"]
    others = [(name, version) for name, version, _ in rows if _source_of(version) != source]
    drivers = {_upstream(version) for name, version in others if _DRIVER.match(name)}
    return of_modules + [f"{name} {version}" for name, version in others if _DRIVER.match(name) or _upstream(version) in drivers]


def module_packages(packages: Sequence[Mapping[str, str]], family: str) -> list[str]:
    """The declared packages that bring or build the kernel module, as the package manager of `family` (`Debian`, `RedHat`) is given name and version.

    Args:
        packages: `name` and `version` of each package.
        family: os_family as Ansible reports it: `Debian` or `RedHat`.
    """
    return [p["name"] + _JOINED[family] + p["version"] for p in packages if _MODULE.match(p["name"])]


def _upstream(version: str) -> str:
    return version.rpartition("-")[0]


def _source_of(version: str) -> str:
    return "ubuntu" if _UBUNTU_REVISION.search(version) else "cuda"


def _kernel_module_errors(source: str, kernel_module: str, peermem: bool, packages: Sequence[Mapping[str, str]]) -> Iterator[str]:
    modules = [p["name"] for p in packages if p["component"] == "kernel_module"]
    if not modules:
        return
    if source != "ubuntu":
        yield f"{modules[0]}: only Ubuntu's archive has precompiled kernel modules; nvidia_driver_source is {source}"
    for name in modules:
        if ("-open-" in name) != (kernel_module == "open"):
            yield f"{name} is not a package of the {kernel_module} kernel module"
    for name in (p["name"] for p in packages if re.match(r"nvidia-(dkms|driver|headless-\d)", p["name"])):
        yield f"{name} builds kernel modules with DKMS, but {modules[0]} has them precompiled and signed: declare nvidia-headless-no-dkms-..."
    if peermem:
        yield "nvidia_driver_peermem: precompiled modules are built without the vendor's network stack, so nvidia-peermem does not load; use DMA-BUF"


def _flavour_errors(source: str, packages: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Ubuntu's fabric manager, NSCQ and IMEX depend on the server flavour of the driver, which conflicts with the other one."""
    needed = [p["name"] for p in packages if source == "ubuntu" and p["component"] in ("fabric_manager", "imex")]
    for package in packages:
        if needed and package["component"] == "driver" and "-server" not in package["name"]:
            yield f"{package['name']}: {needed[0]} of Ubuntu needs the server flavour of the driver (-server)"


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {
            "nvidia_source_errors": source_errors,
            "nvidia_installed_of_other_source": installed_of_other_source,
            "nvidia_module_packages": module_packages,
        }
