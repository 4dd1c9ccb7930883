"""`make resolve` in small: apt itself decides about the profiles' packages, from the facts about the public repositories."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from clusterctl_lab.apt_root import AptRoot
from clusterctl_lab.declared_packages import PREFERENCES, DeclaredPackages, declared_packages
from clusterctl_lab.package_facts import package_facts
from clusterctl_lab.resolve import Resolution, resolve, role_order
from clusterctl_lab.resolve_profiles import dpkg_architecture
from clusterctl_lab.stub_catalogue import stub_packages
from support.declared_profiles import declared_profile
from support.doc_blocks import blocks_of
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not shutil.which("apt-get"), reason="apt-get is not installed")

PROFILE = "profile_hgx_b200_ib"
ORDER = role_order(ROOT / "playbooks" / "provision.yml")


@pytest.fixture(scope="module")
def apt(tmp_path_factory: pytest.TempPathFactory) -> AptRoot:
    return AptRoot(tmp_path_factory.mktemp("apt") / "root", package_facts(), "24.04")


def steps(**variables: Any) -> tuple[DeclaredPackages, ...]:
    extra = [yaml.safe_dump(variables, default_flow_style=True, width=10**6)] if variables else []
    spec = declared_profile(PROFILE, *extra)
    return declared_packages(spec, ORDER, ROOT / "roles")


def resolution(apt: AptRoot, **variables: Any) -> Resolution:
    return resolve(apt, PROFILE, "24.04", steps(**variables))


def test_a_profile_resolves_although_newer_versions_are_published(apt: AptRoot) -> None:
    found = resolution(apt)
    assert (found.role, found.reason) == ("", "")
    companions = {n: v for n, v in found.installed.items() if n.startswith(("libnvidia-", "nvidia-")) and "-580" in n}
    assert len(companions) > 15, "the driver depends on its whole set"
    assert set(companions.values()) == {"580.126.20-1ubuntu1"}
    assert found.installed["libibverbs1"] == "2510.0.11-1", "the distribution's, which every server has, is replaced"
    assert found.declared["nvidia_driver"] > 10


@pytest.mark.parametrize("release", ["22.04", "24.04"])
def test_the_documented_drivers_of_ubuntu_resolve(release: str, tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "own-profile.md"
    (block,) = [b for b in blocks_of(page) if "profile_mysite_h100/nvidia_driver.yml" in b.marks.get("file", "")]
    extra = tmp_path / "nvidia_driver.yml"
    extra.write_text(block.text)
    profile = "profile_hgx_h100_ib"
    spec = declared_profile(profile, f"@{extra}", f"ubuntu_release={release}")
    assert spec.roles["nvidia_driver"]["nvidia_driver_source"] == "ubuntu"
    apt = AptRoot(tmp_path / "root", package_facts(), release)
    found = resolve(apt, profile, release, declared_packages(spec, ORDER, ROOT / "roles"))
    assert (found.role, found.reason) == ("", "")
    assert found.installed["nvidia-kernel-common-580-server"].startswith("580.126.20-0ubuntu0."), "a newer one is in the archive"
    assert "nvidia-dkms-580-open" not in found.installed


@pytest.mark.parametrize("profile", [PROFILE, "profile_hgx_h100_roce", "profile_gb200_nvl72"])
def test_a_profile_resolves_on_a_new_lab_node_with_its_old_stacks(profile: str, tmp_path: Path) -> None:
    spec = declared_profile(profile)
    apt = AptRoot(tmp_path / "root", package_facts(), "24.04", dpkg_architecture(spec))
    old = {p.fact.name: p.fact.version for p in stub_packages() if p.installed}
    found = resolve(apt, profile, "24.04", declared_packages(spec, ORDER, ROOT / "roles"), old)
    assert (found.role, found.reason) == ("", "")
    assert {v for n, v in found.installed.items() if n.startswith("libnvidia-") and n.endswith("-580")}.isdisjoint({"580.65.06-0ubuntu1"})


def test_a_new_lab_node_has_the_dependencies_of_its_packages(apt: AptRoot) -> None:
    apt.reset({p.fact.name: p.fact.version for p in stub_packages() if p.installed})
    # apt refuses any installation on a node with broken packages.
    simulation = apt.simulate([("nvbandwidth", "0.9-1")], recommends=False)
    assert (simulation.reason, simulation.installed) == ("", {"nvbandwidth": "0.9-1"})


def test_a_pin_of_a_version_that_does_not_exist_is_refused(apt: AptRoot) -> None:
    # The fault of the first profile: mft's revision on a package that has another scheme.
    packages = [{"name": "mft", "version": "4.34.1-10"}, {"name": "kernel-mft-dkms", "version": "4.34.1-10"}]
    found = resolution(apt, ofed_packages=packages)
    assert found.role == "ofed"
    assert found.reason == "E: Version '4.34.1-10' for 'kernel-mft-dkms' was not found"


def test_a_driver_whose_set_is_not_pinned_is_refused(apt: AptRoot) -> None:
    found = resolution(apt, nvidia_driver_set=[])
    assert found.role == "nvidia_driver"
    assert "Depends: nvidia-firmware-580 (= 580.126.20-1ubuntu1) but 580.178.04-1ubuntu1 is to be installed" in found.reason


def test_an_incomplete_set_is_refused_with_the_missing_package(apt: AptRoot) -> None:
    members = ["libnvidia-*-580", "nvidia-*-580*", "xserver-xorg-video-nvidia-580", "nvidia-persistenced", "nvidia-settings", "libxnvctrl0"]
    found = resolution(apt, nvidia_driver_set=members)
    assert found.role == "nvidia_driver"
    assert "nvidia-modprobe (= 580.126.20-1ubuntu1) but 595.58.03-1ubuntu1 is to be installed" in found.reason
    assert "nvidia-settings" not in found.reason


def test_a_package_that_no_repository_has_is_refused(apt: AptRoot) -> None:
    found = resolution(apt, nccl_packages=[{"name": "libnccl3", "version": "3.0-1"}])
    assert (found.role, found.reason) == ("nccl", "E: Unable to locate package libnccl3")


def test_a_role_that_changes_the_package_of_an_earlier_one_is_named(apt: AptRoot) -> None:
    own = {"name": "libnccl2", "version": "2.30.4-1+cuda13.2"}
    found = resolve(
        apt,
        PROFILE,
        "24.04",
        [DeclaredPackages("nccl", (("libnccl2", "2.28.9-1+cuda13.0"),)), DeclaredPackages("gpu_tools", ((own["name"], own["version"]),))],
    )
    assert found.role == "nccl"
    assert "libnccl2 is 2.30.4-1+cuda13.2 in the end, declared is 2.28.9-1+cuda13.0" in found.reason


def test_a_role_that_would_remove_declared_packages_is_refused(apt: AptRoot) -> None:
    # Ubuntu's nvidia-compute-utils has its own persistence daemon and conflicts with NVIDIA's.
    rival = DeclaredPackages("gpu_tools", (("nvidia-headless-no-dkms-580-server-open", "580.159.03-0ubuntu0.24.04.1"),))
    found = resolve(apt, PROFILE, "24.04", [s for s in steps() if s.role == "nvidia_driver"] + [rival])
    assert found.role == "gpu_tools"
    assert found.reason.startswith("apt would remove ")
    assert "nvidia-persistenced" in found.reason


def test_the_roles_own_templates_are_used() -> None:
    texts = {step.role: step.preferences for step in steps() if step.preferences}
    assert set(texts) == set(PREFERENCES)
    assert "Package: linux-image-6.8.0-1046-nvidia linux-modules-6.8.0-1046-nvidia" in texts["kernel"]
    assert "Pin: release o=Ubuntu\nPin-Priority: -1" in texts["ofed"]
    assert "Package: libnvidia-nscq\nPin: version 580.126.20-1\n" in texts["nvidia_driver"]


def test_every_role_that_writes_preferences_is_known() -> None:
    templates = {(f.parents[1].name, f.name) for f in (ROOT / "roles").glob("*/templates/*") if "Pin-Priority" in f.read_text()}
    assert templates == {(role, name) for role, (name, _) in PREFERENCES.items()}


def test_a_grace_profile_is_resolved_from_the_packages_of_arm64(tmp_path: Path) -> None:
    spec = declared_profile("profile_gb200_nvl72")
    assert dpkg_architecture(spec) == "arm64"
    declared = declared_packages(spec, ORDER, ROOT / "roles")
    reasons = {}
    for architecture in ("amd64", "arm64"):
        apt = AptRoot(tmp_path / architecture, package_facts(), "24.04", architecture)
        reasons[architecture] = resolve(apt, "profile_gb200_nvl72", "24.04", declared).reason.partition("\n")[0]
    assert reasons == {"amd64": "E: Unable to locate package linux-image-6.8.0-1046-nvidia-64k", "arm64": ""}


def test_a_package_that_only_x86_has_is_refused_for_grace(tmp_path: Path) -> None:
    apt = AptRoot(tmp_path / "root", package_facts(), "24.04", "arm64")
    assert apt.simulate([("libnvsdm", "580.126.20-1")], recommends=False).reason == "E: Version '580.126.20-1' for 'libnvsdm' was not found"


def test_the_apt_of_this_machine_is_not_read(apt: AptRoot, tmp_path: Path) -> None:
    simulation = apt.simulate([("bash", "")], recommends=False)
    assert simulation.reason == "E: Unable to locate package bash"
