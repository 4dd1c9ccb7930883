from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators.test_hugepages import SIZES_KIB
from support.checks import write_files
from support.filters import filter_plugin
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = ROOT / "roles" / "hugepages" / "files" / "clusterctl-hugepages"
plugin = filter_plugin("hugepages")
NODE = "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages"
ASKED = "# size, NUMA node, pages\n2M 1 0\n1G 0 4\n1G 1 8\n"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    files = {NODE.format(n, size): "0\n" for n in (0, 1) for size in (2048, 1048576)}
    return write_files(
        tmp_path, {**files, NODE.format(1, 2048): "512\n", "/etc/clusterctl/hugepages.conf": ASKED, "/proc/sys/vm/compact_memory": ""}
    )


def run(mode: str, root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(["sh", str(SCRIPT), mode, str(root)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_check_changes_nothing(machine: Path) -> None:
    expected = (1, ["node1 2M: declared 0, found 512", "node0 1G: declared 4, found 0", "node1 1G: declared 8, found 0"])
    assert run("check", machine) == expected
    assert run("check", machine) == expected


def test_apply_sets_each_node_and_zero_frees_pages(machine: Path) -> None:
    assert run("apply", machine) == (0, [])
    assert run("check", machine) == (0, [])
    assert (machine / NODE.format(1, 2048).lstrip("/")).read_text() == "0\n"
    assert (machine / NODE.format(1, 1048576).lstrip("/")).read_text() == "8\n"
    assert (machine / NODE.format(0, 2048).lstrip("/")).read_text() == "0\n"


def test_a_node_with_fewer_pages_is_reported(machine: Path) -> None:
    file = machine / NODE.format(1, 1048576).lstrip("/")
    file.unlink()
    # A device swallows what is written, and reads as something else: as the kernel does when memory is short.
    file.symlink_to("/dev/null")
    code, lines = run("apply", machine)
    assert code == 1
    assert lines[0].startswith("node1 1G: declared 8, found ")


def test_an_absent_numa_node_is_reported(machine: Path) -> None:
    write_files(machine, {"/etc/clusterctl/hugepages.conf": "1G 7 1\n"})
    assert run("apply", machine) == (1, ["node7 1G: declared 1, found none"])


def test_each_size_that_can_be_declared_is_allocated_and_checked(tmp_path: Path) -> None:
    sizes = load_role(ROOT / "roles" / "hugepages").options["hugepages_pages"]["options"]["size"]["choices"]
    assert sorted(sizes) == sorted(SIZES_KIB)
    conf = "".join(f"{size} 0 {number}\n" for number, size in enumerate(sizes, 1))
    files = {NODE.format(0, kib): "0\n" for kib in SIZES_KIB.values()}
    write_files(tmp_path, {**files, "/etc/clusterctl/hugepages.conf": conf, "/proc/sys/vm/compact_memory": ""})
    assert run("apply", tmp_path) == (0, [])
    found = {size: (tmp_path / NODE.format(0, SIZES_KIB[size]).lstrip("/")).read_text() for size in sizes}
    assert found == {size: f"{number}\n" for number, size in enumerate(sizes, 1)}


PAGES = [{"size": "2M", "node": 0, "count": 3}, {"size": "1G", "node": 0, "count": 4}, {"size": "1G", "node": 1, "count": 8}]


@pytest.mark.parametrize(
    ("on_cmdline", "default", "words"),
    [
        (False, "", []),
        (False, "1G", ["default_hugepagesz=1G"]),
        (True, "2M", ["default_hugepagesz=2M", "hugepagesz=1G", "hugepages=12", "hugepagesz=2M", "hugepages=3"]),
    ],
)
def test_parameters_for_the_command_line(on_cmdline: bool, default: str, words: list[str]) -> None:
    assert plugin.words(PAGES, on_cmdline, default) == words
    menu = f"menuentry 'a' {{\n\tlinux /vmlinuz ro quiet {' '.join(words)}\n}}\nmenuentry 'r' {{\n\tlinux /vmlinuz ro single\n}}\n"
    assert plugin.boot_differences(menu, words) == []
    assert plugin.boot_differences(menu, [*words, "hugepages=1"]) == [
        f"expected {' '.join([*words, 'hugepages=1'])}, found {' '.join(words) or 'none'}"
    ]
    assert plugin.boot_differences("", words) == ["the boot menu has no entry that starts a kernel"]
    assert plugin.boot_differences(f'kernel="/vmlinuz"\nargs="ro {" ".join(words)}"\n', words) == []
    assert plugin.boot_differences('kernel="/vmlinuz"\nargs="ro hugepages=9"\n', words) == [
        f"expected {' '.join(words)}, found hugepages=9"
    ]


def test_a_size_without_pages_is_not_on_the_command_line() -> None:
    none = [{**page, "count": 0} for page in PAGES]
    assert plugin.words(none, True, "") == []
    assert plugin.words([*none, {"size": "1G", "node": 2, "count": "5"}], True, "2M") == [
        "default_hugepagesz=2M",
        "hugepagesz=1G",
        "hugepages=5",
    ]
