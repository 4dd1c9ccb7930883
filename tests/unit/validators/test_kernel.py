from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import test_kernel as module
from clusterctl_validators.finding import GOOD
from clusterctl_validators.probe import ProbeError
from support.os_node import Case, cases, findings
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

ROLE = load_role(ROOT / "roles" / "kernel")


@pytest.mark.parametrize("case", cases("kernel"), ids=lambda c: c.name)
def test_findings_of_a_node(case: Case, tmp_path: Path) -> None:
    found = findings(case, module, tmp_path)
    assert {check: f.outcome.value for check, f in found.items() if f.outcome not in GOOD} == case.outcomes


def test_the_healthy_node_declares_every_argument() -> None:
    assert cases("kernel")[0].declared == set(ROLE.options)


def test_every_finding_has_a_hint(tmp_path: Path) -> None:
    for case in cases("kernel"):
        found = findings(case, module, tmp_path / case.name)
        assert [c for c, f in found.items() if f.outcome.value == "fail" and not f.hint] == []


def test_defaults_declare_nothing(tmp_path: Path) -> None:
    found = findings(Case("kernel", "defaults", {"spec": ROLE.defaults}, {}), module, tmp_path)
    warned = {check for check, f in found.items() if f.outcome.value == "warn"}
    assert warned == {"kernel.cmdline_undeclared"}  # nosmt takes processors from jobs, and nothing declares it
    assert {f.outcome.value for f in found.values()} == {"not_applicable", "warn"}


def test_a_release_that_is_not_declared_is_kept(tmp_path: Path) -> None:
    found = findings(Case("kernel", "any kernel", {"spec": {**ROLE.defaults, "kernel_release": ""}}, {}), module, tmp_path)
    kept = found["kernel.release.running"]
    assert (kept.outcome.value, kept.found) == ("not_applicable", "6.8.0-1046-nvidia")


@pytest.mark.parametrize("menu", [None, "", "set default=0\nmenuentry 'a' {\n\tchainloader /efi\n}\n"])
def test_a_missing_boot_menu_is_not_a_pass(menu: str | None, tmp_path: Path) -> None:
    case = Case("kernel", "no menu", {"files": {"/boot/grub/grub.cfg": menu}}, {})
    with pytest.raises(ProbeError, match="boot menu"):
        findings(case, module, tmp_path)


RHEL = """index=0
kernel="/boot/vmlinuz-5.14.0-427.el9.x86_64"
args="ro crashkernel=1G iommu=pt init_on_alloc=0 nosmt console=tty0 console=ttyS0,115200n8 rd.driver.blacklist=nouveau"
root="UUID=a"
index=1
kernel="/boot/vmlinuz-0-rescue"
args="ro {second}"
"""


@pytest.mark.parametrize(("second", "outcome"), [("iommu=pt", "pass"), ("iommu=on", "fail")])
def test_loader_entries_are_read_with_grubby(second: str, outcome: str, tmp_path: Path) -> None:
    commands = {"grubby --info=ALL": RHEL.format(second=second), "grubby --default-kernel": "/boot/vmlinuz-6.8.0-1046-nvidia\n"}
    spec = {"kernel_cmdline": {"iommu": "pt"}, "kernel_console": []}
    files = {"/boot/loader/entries/a.conf": "title Rocky Linux\n", "/boot/grub/grub.cfg": None}
    found = findings(Case("kernel", "rhel", {"commands": commands, "spec": spec, "files": files}, {}), module, tmp_path)
    assert found["kernel.cmdline[iommu].persisted"].outcome.value == outcome
    assert found["kernel.release.persisted"].outcome.value == "pass"


def test_a_failed_grubby_is_not_a_pass(tmp_path: Path) -> None:
    files = {"/boot/loader/entries/a.conf": "title Rocky Linux\n"}
    with pytest.raises(ProbeError, match="grubby"):
        findings(Case("kernel", "rhel", {"files": files}, {}), module, tmp_path)


LOCKS = "# Added lock\nkernel-5.14.0-427.el9\nkernel-core-0:5.14.0-427.el9.*\n"
PARTS = ("kernel", "kernel-core", "kernel-modules", "kernel-tools")


def packages_of_el(tmp_path: Path, *, versions: tuple[str, ...], locks: str) -> dict[str, str]:
    """The outcomes of the checks of packages; 5.14.0-427.el9 is declared."""
    rpm = "".join(f"{name}\t{version}\n" for version in versions for name in PARTS)
    dpkg = r"dpkg-query -W -f ${Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n"
    commands = {
        dpkg: {"rc": None, "error": "dpkg-query: not found"},
        r"rpm -qa --qf %{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n": rpm,
    }
    spec = {"kernel_package": "kernel", "kernel_version": "5.14.0-427.el9", "kernel_extra_packages": []}
    files = {"/etc/dnf/plugins/versionlock.list": locks, "/var/lib/dpkg/status": None}
    found = findings(Case("kernel", "el", {"commands": commands, "spec": spec, "files": files}, {}), module, tmp_path)
    return {c.removeprefix("kernel.package"): f.outcome.value for c, f in found.items() if c.startswith("kernel.package")}


@pytest.mark.parametrize(("locks", "held"), [(LOCKS + "kernel-modules-5.14.0-427.el9\n", "pass"), (LOCKS, "fail")])
def test_each_part_of_a_kernel_of_el_is_held(locks: str, held: str, tmp_path: Path) -> None:
    """A locked kernel does not hold kernel-core and kernel-modules."""
    found = packages_of_el(tmp_path, versions=("5.14.0-427.el9",), locks=locks)
    assert found == {"[kernel].version": "pass", "[kernel].held": "pass", "[kernel-core].held": "pass", "[kernel-modules].held": held}


@pytest.mark.parametrize(
    ("versions", "outcome"),
    [
        (("5.14.0-427.el9", "5.14.0-503.el9"), "pass"),
        (("5.14.0-503.el9", "5.14.0-427.el9"), "pass"),
        (("5.14.0-503.el9", "5.14.0-570.el9"), "fail"),
    ],
)
def test_the_declared_kernel_of_el_is_one_of_those_installed(versions: tuple[str, ...], outcome: str, tmp_path: Path) -> None:
    assert packages_of_el(tmp_path, versions=versions, locks=LOCKS)["[kernel].version"] == outcome
