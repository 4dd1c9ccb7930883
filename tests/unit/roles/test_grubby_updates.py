"""EL: grubby takes all values of a parameter away by its name, those of other programs, too (grubby-bls, update_args)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import filter_plugin
from support.local_play import role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

boot = filter_plugin("kernel_boot")
ACS = "pci=config_acs='xx111x0@0008:00:00.0;xx110x1@0008:02:00.0'"
NEW, OLD = "/boot/vmlinuz-5.14.0-570", "/boot/vmlinuz-5.14.0-503"


def info(entries: dict[str, str]) -> str:
    return "".join(f'index={i}\nkernel="{kernel}"\nargs="{args}"\ntitle="x"\n' for i, (kernel, args) in enumerate(entries.items()))


def applied(entries: dict[str, str], declared: dict[str, Any]) -> dict[str, str]:
    """What the calls of the role make of these entries: by name, `--args` takes away before it adds."""
    now = dict(entries)
    for target, change in boot.grubby_updates(info(entries), list(declared), boot.cmdline_words(declared)):
        option, _, text = change.partition("=")
        names = {word.partition("=")[0] for word in text.split()}
        for kernel in now if target == "--update-kernel=ALL" else [target.partition("=")[2]]:
            kept = [word for word in now[kernel].split() if word.partition("=")[0] not in names]
            now[kernel] = " ".join([*kept, *(text.split() if option == "--args" else [])])
    return now


@pytest.mark.parametrize(
    ("found", "declared", "expected"),
    [
        (f"ro {ACS} quiet", {"pci": "realloc=off", "iommu": "pt"}, f"ro quiet {ACS} pci=realloc=off iommu=pt"),
        (f"ro pci=realloc=on {ACS} pci=noaer", {"pci": "realloc=off"}, f"ro {ACS} pci=noaer pci=realloc=off"),
        (f"ro {ACS}", {"pci": False}, "ro"),
        ("ro iommu=pt iommu=off", {"iommu": "pt"}, "ro iommu=pt"),
        ("ro quiet", {"quiet": False, "console": ["tty0", "ttyS0"]}, "ro console=tty0 console=ttyS0"),
    ],
    ids=["beside_a_declared_option", "another_value_of_it", "declared_absent", "one_value", "several_values"],
)
def test_options_of_others_stay(found: str, declared: dict[str, Any], expected: str) -> None:
    after = applied({NEW: found, OLD: found}, declared)
    assert after == {NEW: expected, OLD: expected}
    assert boot.boot_differences(info(after), declared) == []


def test_each_entry_keeps_its_own() -> None:
    after = applied({NEW: f"ro {ACS}", OLD: "ro"}, {"pci": "realloc=off"})
    assert after == {NEW: f"ro {ACS} pci=realloc=off", OLD: "ro pci=realloc=off"}
    after = applied({NEW: "ro", OLD: f"ro {ACS}"}, {"pci": "realloc=off", "iommu": "pt"})
    assert after == {NEW: "ro pci=realloc=off iommu=pt", OLD: f"ro iommu=pt {ACS} pci=realloc=off"}


def test_double_quotes_become_single_ones() -> None:
    """Grubby writes the words between double quotes into /etc/default/grub, which is a shell script; GRUB takes both kinds away."""
    (_, (_, change)) = boot.grubby_updates(info({NEW: "ro " + ACS.replace("'", '"')}), ["pci"], ["pci=realloc=off"])
    assert change == f"--args={ACS} pci=realloc=off"


GRUBBY = """#!/bin/sh
echo "$*" >> {log}
case $* in --info=ALL) [ $(grep -c args= {log}) -lt 2 ] && cat {before} || cat {after} ;; esac
"""


def test_the_role_calls_grubby_with_these(tmp_path: Path) -> None:
    """Two calls, then the arguments are read back; the answers are those of a node before and after."""
    log, words = tmp_path / "calls", "pci=realloc=off"
    (tmp_path / "before").write_text(info({NEW: f"ro {ACS}"}))
    (tmp_path / "after").write_text(info({NEW: f"ro {ACS} {words}"}))
    tool = tmp_path / "grubby"
    tool.write_text(GRUBBY.format(log=log, before=tmp_path / "before", after=tmp_path / "after"))
    tool.chmod(0o755)
    variables = {
        "shared_cmdline_names": ["pci"],
        "shared_cmdline_words": [words],
        "shared_cmdline_differences": "{{ __shared_boot_text | clusterctl.gpu.kernel_boot_differences({'pci': 'realloc=off'}) }}",
    }
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = run_play(tmp_path, role_tasks("shared", "cmdline_RedHat"), variables=variables, environment=environment)
    assert done.code == 0, done.output
    assert log.read_text().splitlines() == [
        "--info=ALL",
        "--update-kernel=ALL --remove-args=pci",
        f"--update-kernel=ALL --args={ACS} {words}",
        "--info=ALL",
    ]
