"""nvme_read.py on a made-up machine: which disks it reads, with which command, and what it says where that does not work."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import TYPE_CHECKING

import pytest

from clusterctl_tools import nvme_read
from clusterctl_tools.util_linux import LSBLK, parse_nvme_data_disks
from support.checks import write_files
from support.nvme import fio_output
from support.recorded import RECORDED
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SCRIPT = ROOT / "roles" / "burnin" / "files" / nvme_read.PROGRAM
DISKS = {
    "blockdevices": [
        {"name": "sda", "type": "disk", "mountpoint": None},
        {"name": "nvme2n1", "type": "disk", "mountpoint": "/scratch"},
        {"name": "nvme0n1", "type": "disk", "children": [{"name": "nvme0n1p2", "type": "part", "mountpoint": None, "children": [
            {"name": "vg-root", "type": "lvm", "mountpoint": "/"}]}]},
        {"name": "nvme1n1", "type": "disk", "children": [{"name": "md0", "type": "raid0", "mountpoint": "/data"}]},
    ]
}  # fmt: skip
# Its arguments are in the output, and the disk decides what becomes of it.
FIO = """#!{python}
import sys
print('fio: a note before the JSON')
print({output!r})
if '--filename=/dev/nvme2n1' in sys.argv:
    sys.stderr.write('fio: io_u error on file /dev/nvme2n1\\n')
    sys.exit(1)
open({log!r} + sys.argv[4].partition('=')[2], 'w').write('\\n'.join(sys.argv[1:]))
"""


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nvme_read_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs in `bin`, the kernel's files in `sys`; nvme2 is a controller of a subsystem."""
    programs = {
        "/bin/lsblk": f"#!/bin/sh\necho '{json.dumps(DISKS)}'\n",
        "/bin/fio": FIO.format(python=sys.executable, output=fio_output(), log=f"{tmp_path}/argv."),
    }
    files = {
        "/sys/block/nvme1n1/device/model": "MODEL A   \n",
        "/sys/block/nvme1n1/device/address": "0000:c1:00.0\n",
        "/sys/block/nvme1n1/device/device/numa_node": "1\n",
        "/sys/block/nvme2n1/device/model": "MODEL B\n",
        "/sys/block/nvme2n1/device/nvme2/address": "0000:02:00.0\n",
        "/sys/block/nvme2n1/device/nvme2/device/numa_node": "0\n",
    }
    write_files(tmp_path, {**programs, **files})
    for name in ("lsblk", "fio"):
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path


def run(machine: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status: int = script().main(["--seconds", "1", *words], machine / "sys")
    return status, capsys.readouterr().out


def test_each_data_disk_is_read_and_described(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, printed = run(machine, capsys)
    found = nvme_read.read_run(printed)
    assert (status, found.disks, found.problem) == (0, ("nvme1n1", "nvme2n1"), "")
    good, bad = found.reads
    assert (good.disk, good.model, good.address, good.numa_node, good.exit_status, good.error) == (
        "nvme1n1", "MODEL A", "0000:c1:00.0", "1", 0, "",
    )  # fmt: skip
    assert fio_output() in good.output
    assert (bad.model, bad.address, bad.numa_node, bad.exit_status) == ("MODEL B", "0000:02:00.0", "0", 1)
    assert bad.error == "fio: io_u error on file /dev/nvme2n1"


def test_fio_reads_only(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(machine, capsys, "--ioengine", "io_uring")
    assert not (machine / "argv.nvme0n1").exists()
    words = (machine / "argv.nvme1n1").read_text().splitlines()
    assert words == [
        "--readonly", "--time_based", "--eta=never", "--name=nvme1n1", "--filename=/dev/nvme1n1", "--rw=read", "--bs=1M", "--iodepth=32",
        "--ioengine=io_uring", "--direct=1", "--runtime=1", "--invalidate=0", "--allow_file_create=0", "--output-format=json",
    ]  # fmt: skip


def test_a_disk_on_a_network_is_not_read(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(machine, {"/sys/block/nvme1n1/device/transport": "rdma\n", "/sys/block/nvme2n1/device/nvme1/transport": "pcie\n"})
    assert nvme_read.read_run(run(machine, capsys)[1]).disks == ("nvme2n1",)
    write_files(machine, {"/sys/block/nvme2n1/device/nvme1/transport": "tcp\n", "/sys/block/nvme1n1/device/transport": "pcie\n"})
    assert nvme_read.read_run(run(machine, capsys)[1]).disks == ("nvme1n1",)


def test_without_fio(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, printed = run(machine, capsys, "--program", "/nowhere/fio")
    assert (status, nvme_read.read_run(printed).problem) == (nvme_read.NO_FIO, "/nowhere/fio: No such file or directory")


@pytest.mark.parametrize("lsblk", ["exit 1", "echo '{'", "echo '{}'", "echo '{\"blockdevices\": [1]}'"])
def test_without_a_list_of_disks(machine: Path, capsys: pytest.CaptureFixture[str], lsblk: str) -> None:
    (machine / "bin" / "lsblk").write_text(f"#!/bin/sh\n{lsblk}\n")
    status, printed = run(machine, capsys)
    assert (status, nvme_read.read_run(printed).disks) == (4, None)


def test_a_disk_that_never_answers_holds_up_no_other_one(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fio = machine / "bin" / "fio"
    fio.write_text(fio.read_text().replace("sys.exit(1)", "import time; time.sleep(60)"))
    module = script()
    module.END_S = 2
    assert module.main(["--seconds", "1"], machine / "sys") == 0
    good, silent = nvme_read.read_run(capsys.readouterr().out).reads
    assert (good.exit_status, silent.exit_status, silent.error) == (0, None, "fio did not end: the disk does not answer")


def _lists() -> list[Path]:
    return sorted([*(RECORDED / "lsblk").glob("*"), *(RECORDED / "lsblk-findmnt").glob("*lsblk*")])


@pytest.mark.parametrize("file", _lists(), ids=lambda p: p.name)
def test_the_data_disks_are_those_that_the_validators_count(file: Path) -> None:
    text = file.read_text()
    assert script().data_disks(text) == sorted(parse_nvme_data_disks(text))


def test_script_and_tool_agree() -> None:
    module = script()
    assert (module.END_S, module.NO_FIO, module.LSBLK) == (nvme_read.END_S, nvme_read.NO_FIO, LSBLK)
    assert module.data_disks(json.dumps(DISKS)) == sorted(parse_nvme_data_disks(json.dumps(DISKS)))
