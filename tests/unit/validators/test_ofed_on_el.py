"""The network stack on EL: what dnf excludes, and modules that weak-modules links into the folder of another kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators.finding import Outcome
from support.checks import modinfo_text
from support.gpu_node import dnf_files, on_rpm
from support.ofed_node import EXCLUDED, FIELDS, KERNEL, PACKAGES, bad, check, spec

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_validators.probe import CommandResult


def test_a_distribution_with_dnf(tmp_path: Path) -> None:
    dump = f"[baseos]\nexcludepkgs = {', '.join(EXCLUDED)}\n"
    outputs: dict[str, CommandResult | str] = {
        **on_rpm(PACKAGES),
        "dnf repolist --enabled": "repo id    repo name\nappstream  Rocky Linux 9 - AppStream\nbaseos     Rocky Linux 9 - BaseOS\ndoca  DOCA\n",
        "dnf config-manager --dump baseos": dump,
        "dnf config-manager --dump appstream": "[appstream]\nexcludepkgs = \n",
    }
    assert set(bad(check(tmp_path, outputs, files=dnf_files(PACKAGES)))) == {"exclusion[appstream].persisted"}


def test_the_repositories_of_rhel_are_found_by_their_names(tmp_path: Path) -> None:
    base, app = "rhel-9-for-x86_64-baseos-rpms", "rhel-9-for-x86_64-appstream-rpms"
    outputs: dict[str, CommandResult | str] = {
        **on_rpm(PACKAGES),
        "dnf repolist --enabled": f"Updating Subscription Management repositories.\nrepo id  repo name\n{app}  AppStream\n{base}  BaseOS\n",
        f"dnf config-manager --dump {base}": f"[{base}]\nexcludepkgs = {', '.join(EXCLUDED)}\n",
        f"dnf config-manager --dump {app}": f"[{app}]\nexcludepkgs = \n",
    }
    assert set(bad(check(tmp_path, outputs, files=dnf_files(PACKAGES)))) == {f"exclusion[{app}].persisted"}


def test_unknown_repositories_of_the_distribution_are_not_a_pass(tmp_path: Path) -> None:
    outputs = {**on_rpm(PACKAGES), "dnf repolist --enabled": "repo id  repo name\nsite-el9-os  Site\n"}
    assert check(tmp_path, outputs, files=dnf_files(PACKAGES))["ofed.exclusion.persisted"].outcome is Outcome.COULD_NOT_RUN


def test_repositories_of_another_distribution_with_dnf(tmp_path: Path) -> None:
    base, app = "rhel-9-for-x86_64-baseos-rpms", "rhel-9-for-x86_64-appstream-rpms"
    outputs: dict[str, CommandResult | str] = {
        **on_rpm(PACKAGES),
        f"dnf config-manager --dump {base}": f"[{base}]\nexcludepkgs = rdma-core, libhns\n",
        f"dnf config-manager --dump {app}": f"[{app}]\nexcludepkgs = perftest\n",
    }
    variables = spec(ofed_dnf_excludes={base: ["rdma-core", "libhns"], app: ["rdma-core"]})
    assert set(bad(check(tmp_path, outputs, variables=variables, files=dnf_files(PACKAGES)))) == {f"exclusion[{app}].persisted"}


def test_the_folder_of_dnf_beside_apt_excludes_nothing(tmp_path: Path) -> None:
    assert bad(check(tmp_path, files={"/etc/dnf/dnf.conf": "[main]\n"})) == {}


@pytest.mark.parametrize(
    ("folder", "wrong"),
    [("weak-updates/mlnx-ofa_kernel", {}), ("extra/mlnx-ofa_kernel", {"rebuild[mlx5_core].vermagic": "5.14.0-570.12.1.el9_6.x86_64"})],
)
def test_a_module_of_another_kernel_that_weak_modules_linked(folder: str, wrong: dict[str, str], tmp_path: Path) -> None:
    """It links modules whose symbols have the checksums of this kernel, which then takes them whatever their release (weak-modules of kmod in EL; same_magic of
    kernel/module/version.c)."""
    file = f"/lib/modules/{KERNEL}/{folder}/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.xz"
    fields = {**FIELDS, "filename": file, "vermagic": "5.14.0-570.12.1.el9_6.x86_64 SMP preempt mod_unload modversions"}
    found = check(tmp_path, {"modinfo mlx5_core": modinfo_text(**fields)})
    assert bad(found) == wrong
    assert "weak-modules" in found["ofed.rebuild[mlx5_core].vermagic"].found or wrong
