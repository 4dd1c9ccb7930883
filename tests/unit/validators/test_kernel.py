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
    assert {f.outcome.value for f in found.values()} == {"not_applicable"}


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
