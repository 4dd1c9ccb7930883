"""The two repositories of the driver: their packages are not mixed, and precompiled modules go with no DKMS package."""

from __future__ import annotations

from typing import Any

import pytest

from support.filters import filter_plugin
from support.gpu_node import declared

plugin = filter_plugin("nvidia_source")
source_errors = plugin.source_errors
installed_of_other_source = plugin.installed_of_other_source
VERSION = "580.126.20-0ubuntu0.24.04.2"


def package(component: str, name: str, version: str = VERSION) -> dict[str, str]:
    return {"component": component, "name": name, "version": version}


MODULES = package("kernel_module", "linux-modules-nvidia-580-server-open-6.8.0-1046-nvidia", "6.8.0-1046.49")
UBUNTU = [
    package("driver", "nvidia-headless-no-dkms-580-server-open"),
    package("driver", "nvidia-utils-580-server"),
    MODULES,
    package("persistenced", "nvidia-compute-utils-580-server"),
    package("fabric_manager", "nvidia-fabricmanager-580"),
    package("dcgm", "datacenter-gpu-manager-4-core", "1:4.5.3-1"),
]


def test_each_source_accepts_its_own_packages() -> None:
    assert source_errors("ubuntu", "open", False, UBUNTU) == []
    assert source_errors("cuda", "open", True, declared("nvidia_driver")["nvidia_driver_packages"]) == []
    dkms = [p for p in UBUNTU if p is not MODULES] + [package("driver", "nvidia-dkms-580-server-open")]
    assert source_errors("ubuntu", "open", True, dkms) == []


@pytest.mark.parametrize("version", ["580.65.06-0ubuntu1", "580.126.20-1ubuntu1", "610.43.02-1ubuntu1", "580.126.20-1"])
def test_versions_of_nvidia(version: str) -> None:
    packages = [package("driver", "nvidia-driver-580-open", version)]
    assert source_errors("cuda", "open", False, packages) == []
    assert "is of NVIDIA's repository, but nvidia_driver_source is ubuntu" in source_errors("ubuntu", "open", False, packages)[0]


@pytest.mark.parametrize("version", [VERSION, "580.173.02-0ubuntu0.22.04.1", "555.52.04-0ubuntu0~gpu24.04.1"])
def test_versions_of_ubuntu(version: str) -> None:
    packages = [package("driver", "nvidia-driver-580-open", version)]
    assert source_errors("ubuntu", "open", False, packages) == []
    assert "is of Ubuntu's archive, but nvidia_driver_source is cuda" in source_errors("cuda", "open", False, packages)[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"peermem": True}, "nvidia-peermem does not load; use DMA-BUF"),
        ({"kernel_module": "proprietary"}, "6.8.0-1046-nvidia is not a package of the proprietary kernel module"),
        (
            {"packages": [*UBUNTU, package("driver", "nvidia-dkms-580-server-open")]},
            "nvidia-dkms-580-server-open builds kernel modules with DKMS",
        ),
        ({"packages": [*UBUNTU, package("driver", "nvidia-headless-580-server-open")]}, "builds kernel modules with DKMS"),
        ({"packages": [*UBUNTU, package("driver", "nvidia-driver-580-server-open")]}, "builds kernel modules with DKMS"),
        (
            {"packages": [*UBUNTU, package("driver", "nvidia-utils-580")]},
            "nvidia-utils-580: nvidia-fabricmanager-580 of Ubuntu needs the server flavour",
        ),
        ({"packages": [MODULES], "source": "cuda"}, "only Ubuntu's archive has precompiled kernel modules"),
    ],
)
def test_what_cannot_work_is_refused(changes: dict[str, Any], reason: str) -> None:
    said: dict[str, Any] = {"source": "ubuntu", "kernel_module": "open", "peermem": False, "packages": UBUNTU, **changes}
    errors = source_errors(said["source"], said["kernel_module"], said["peermem"], said["packages"])
    assert [e for e in errors if reason in e], errors
    assert len(errors) == 1


LISTED = """\
nvidia-driver-580-open\t580.65.06-0ubuntu1\tinstall\tinstalled
nvidia-persistenced\t580.65.06-0ubuntu1\tinstall\tinstalled
libnvidia-compute-580-server\t580.126.20-0ubuntu0.24.04.2\tinstall\thalf-configured
linux-modules-nvidia-580-server-open-6.8.0-1046-nvidia\t6.8.0-1046.49\tinstall\tinstalled
libxnvctrl0\t580.65.06-0ubuntu1\tinstall\tinstalled
nvidia-settings\t510.47.03-0ubuntu4.24.04.1\tinstall\tinstalled
nvidia-modprobe\t535.54.03-1\tinstall\tinstalled
nvidia-container-toolkit\t1.18.2-1\tinstall\tinstalled
libnvidia-container1\t1.18.2-1\tinstall\tinstalled
nvidia-dkms-570-open\t570.1-1\tinstall\tconfig-files
nvidia-prime
"""


def test_what_is_installed_of_the_other_source() -> None:
    """A package that was removed, or that goes with neither driver, does not count."""
    of_nvidia = [f"{name} 580.65.06-0ubuntu1" for name in ("nvidia-driver-580-open", "nvidia-persistenced", "libxnvctrl0")]
    of_ubuntu = [
        "linux-modules-nvidia-580-server-open-6.8.0-1046-nvidia 6.8.0-1046.49",
        "libnvidia-compute-580-server 580.126.20-0ubuntu0.24.04.2",
    ]
    assert installed_of_other_source("ubuntu", [], LISTED) == of_nvidia
    assert installed_of_other_source("cuda", [], LISTED) == of_ubuntu


def test_a_declared_package_of_the_other_source_is_replaced_and_not_refused() -> None:
    listed = f"nvidia-persistenced\t{VERSION}\tinstall\tinstalled\n"
    assert installed_of_other_source("cuda", [package("persistenced", "nvidia-persistenced", "580.126.20-1")], listed) == []
    assert installed_of_other_source("cuda", [], listed) == [f"nvidia-persistenced {VERSION}"]


def test_a_node_without_a_driver_has_none_of_the_other_source() -> None:
    assert installed_of_other_source("ubuntu", UBUNTU, "") == installed_of_other_source("cuda", [], "") == []
