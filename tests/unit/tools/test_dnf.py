from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools import dnf

ROCKY = """repo id                        repo name
appstream                      Rocky Linux 9 - AppStream
baseos                         Rocky Linux 9 - BaseOS
epel                           Extra Packages for Enterprise Linux 9 - x86_64
extras                         Rocky Linux 9 - Extras
"""
RHEL = """Updating Subscription Management repositories.
repo id                             repo name
codeready-builder-for-rhel-9-x86_64-rpms   Red Hat CodeReady Linux Builder for RHEL 9 x86_64 (RPMs)
doca                                DOCA Online Repo
rhel-9-for-x86_64-appstream-rpms    Red Hat Enterprise Linux 9 for x86_64 - AppStream (RPMs)
rhel-9-for-x86_64-baseos-debug-rpms Red Hat Enterprise Linux 9 for x86_64 - BaseOS (Debug RPMs)
rhel-9-for-x86_64-baseos-eus-rpms   Red Hat Enterprise Linux 9 for x86_64 - BaseOS - Extended Update Support (RPMs)
"""


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (ROCKY, ["appstream", "baseos"]),
        (RHEL, ["rhel-9-for-x86_64-appstream-rpms", "rhel-9-for-x86_64-baseos-eus-rpms"]),
        ("ol9_baseos_latest  Oracle Linux 9 BaseOS Latest (x86_64)\n", ["ol9_baseos_latest"]),
        ("Site_RHEL9_BaseOS_x86_64  Red Hat Enterprise Linux 9 BaseOS\n", ["Site_RHEL9_BaseOS_x86_64"]),
        ("doca  a mirror of appstream packages\n", []),
        ("", []),
    ],
)
def test_the_repositories_of_the_distribution(text: str, ids: list[str]) -> None:
    assert dnf.distribution_repositories(text) == ids


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(found in text for found in dnf.distribution_repositories(text))


@pytest.mark.parametrize(
    ("package", "some"),
    [
        ("kernel", ["kernel", "kernel-core", "kernel-modules", "kernel-modules-core"]),
        ("kernel-core", ["kernel", "kernel-core", "kernel-modules-extra"]),
        ("kernel-64k", ["kernel-64k", "kernel-64k-core", "kernel-64k-devel"]),
    ],
)
def test_the_packages_of_a_kernel(package: str, some: list[str]) -> None:
    assert set(some) <= set(dnf.kernel_set(package))


@pytest.mark.parametrize("package", ["linux-image-6.8.0-1046-nvidia", "kernel-tools", ""])
def test_no_kernel_of_el(package: str) -> None:
    assert dnf.kernel_set(package) == []


@pytest.mark.parametrize(
    ("entry", "stale"),
    [
        ("kernel-core-5.14.0-503.el9", False),
        ("kernel-core-0:5.14.0-503.el9.*", False),
        ("kernel-core-0:5.14.0-503.el9.x86_64", False),
        ("kernel-core-5.14.0-427.el9", True),
        ("kernel-core-0:5.14.0-427.el9.*", True),
        ("kernel-core-5.14.0-503.el9_5", True),
        ("kernel-5.14.0-427.el9", False),
        ("kernel-core-tools-5.14.0-427.el9", False),
        ("!kernel-core-0:5.14.0-427.el9.*", False),
        ("Last metadata expiration check: 0:12:01 ago", False),
    ],
)
def test_the_lock_of_another_version_hides_the_declared_one(entry: str, stale: bool) -> None:
    assert dnf.stale_locks(f"{entry}\n", {"kernel-core": "5.14.0-503.el9"}) == [entry] * stale


def test_a_declared_version_may_have_an_epoch() -> None:
    declared = {"nvidia-driver": "3:580.1-1.el9"}
    assert dnf.stale_locks("nvidia-driver-3:580.1-1.el9.*\nnvidia-driver-3:570.2-1.el9.*\n", declared) == ["nvidia-driver-3:570.2-1.el9.*"]
