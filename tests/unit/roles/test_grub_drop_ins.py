"""Drop-ins of GRUB: those of the roles are read after those that vendors and packages leave in the same folder."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import jinja2
import pytest

from support.filters import filter_plugin
from support.plain_yaml import load_yaml
from support.roles import ROOT

boot = filter_plugin("kernel_boot")
# The names sort as those of DGX OS (nv-iommu: iommu.cfg), kdump-tools, cloud images and a maker's own file behind all of them (index id 70448751405).
OTHERS = ("50-cloudimg-settings.cfg", "99-site.cfg", "iommu.cfg", "kdump-tools.cfg", "nvidia.cfg", "zz-boot-delay.cfg")


def paths(role: str) -> dict[str, str]:
    """Variable -> path of the drop-in with the command line of a role."""
    values: dict[str, Any] = load_yaml((ROOT / "roles" / role / "vars" / "main.yml").read_text())
    return {name: v for name, v in values.items() if name == f"__{role}_grub_file"}


def command_line(folder: Path) -> str:
    """GRUB_CMDLINE_LINUX_DEFAULT as grub-mkconfig reads it."""
    script = (
        'GRUB_CMDLINE_LINUX="" GRUB_CMDLINE_LINUX_DEFAULT=""; for f in ./*.cfg; do . "$f"; done; printf "%s" "$GRUB_CMDLINE_LINUX_DEFAULT"'
    )
    return subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True, cwd=folder).stdout


def written(role: str, declared: dict[str, Any]) -> str:
    """The drop-in of a role."""
    env = jinja2.Environment(trim_blocks=True, autoescape=False, loader=jinja2.FileSystemLoader(ROOT / "roles" / "shared" / "templates"))  # noqa: S701 shell, not HTML
    env.filters.update({f"clusterctl.gpu.{name}": function for name, function in boot.FilterModule().filters().items()})
    words = boot.cmdline_words(declared)
    return env.get_template("grub.cfg.j2").render(role_name=role, shared_cmdline_names=list(declared), shared_cmdline_words=words)


@pytest.mark.parametrize("role", ["kernel", "hugepages", "crash_evidence"])
def test_the_drop_in_of_a_role_is_read_last(role: str) -> None:
    names = [Path(path).name for path in paths(role).values()]
    assert names, "the variables moved"
    assert [name for name in names if name < max(OTHERS)] == []


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("value", ["pt", "off"])
def test_a_parameter_that_a_vendor_sets_too_is_there_once(other: str, value: str, tmp_path: Path) -> None:
    (tmp_path / other).write_text(
        f'GRUB_CMDLINE_LINUX_DEFAULT="${{GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }}iommu={value}"\n'
    )
    (tmp_path / Path(paths("kernel")["__kernel_grub_file"]).name).write_text(written("kernel", {"iommu": "pt"}))
    assert command_line(tmp_path).split() == ["iommu=pt"]


ACS = 'pci=config_acs="xx111x0@0008:00:00.0;xx110x1@0008:02:00.0"'


@pytest.mark.parametrize(
    "other", ["pci=realloc=on", "pci=realloc", "pci=noaer,realloc=on", "pci=realloc=on,noaer", "pci=a,realloc,b", "pci=a,realloc=on,b"]
)
def test_options_that_another_program_adds_to_a_parameter_stay(other: str, tmp_path: Path) -> None:
    """rdma_topo, and so NVIDIA, OCI and Google on GB300, set ACS by pci=config_acs: without it GPUDirect goes through the root complex."""
    quoted = ACS.replace('"', '\\"')
    (tmp_path / "config-acs.cfg").write_text(f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {quoted} {other}"\n')
    (tmp_path / Path(paths("kernel")["__kernel_grub_file"]).name).write_text(written("kernel", {"pci": "realloc=off"}))
    assert command_line(tmp_path).split() == [ACS, "pci=realloc=off"]
    (tmp_path / Path(paths("kernel")["__kernel_grub_file"]).name).write_text(written("kernel", {"pci": False}))
    assert command_line(tmp_path).split() == []


def test_the_drop_ins_of_the_roles_keep_the_words_of_each_other(tmp_path: Path) -> None:
    files = {**paths("kernel"), **paths("hugepages"), **paths("crash_evidence")}
    declared: dict[str, dict[str, Any]] = {
        "__kernel_grub_file": {"iommu": "pt"},
        "__hugepages_grub_file": {"hugepages": 4},
        "__crash_evidence_grub_file": {"crashkernel": "512M"},
    }
    for name, parameters in declared.items():
        (tmp_path / Path(files[name]).name).write_text(written("any", parameters))
    assert sorted(command_line(tmp_path).split()) == ["crashkernel=512M", "hugepages=4", "iommu=pt"]
