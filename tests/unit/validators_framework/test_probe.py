from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators.probe import CommandResult, Probe, ProbeError
from support.checks import InventedNode, write_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DPKG = r"dpkg-query -W -f ${Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n"
RPM = r"rpm -qa --qf %{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n"
SHOW = "systemctl show -p Id,LoadState,ActiveState,UnitFileState -- "


class Counting(InventedNode):
    calls = 0

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        self.calls += 1
        return super().run(argv, timeout_s)


def test_each_command_runs_once(tmp_path: Path) -> None:
    node = Counting(tmp_path, {"nvidia-smi -q": "text", DPKG: "bash\t1\tinstall\tinstalled\n"})
    probe = Probe(node)
    assert probe.run(["nvidia-smi", "-q"]) is probe.run(["nvidia-smi", "-q"])
    assert probe.packages() is probe.packages()
    assert node.calls == 2


def test_a_file_is_a_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text(" 1 \n")
    probe = Probe(InventedNode(tmp_path, {}))
    assert probe.read("/value") == "1"
    file.write_text("2")
    assert probe.read("/value") == "1"
    assert probe.read("/absent") is None


def test_rpm_without_dpkg(tmp_path: Path) -> None:
    write_files(tmp_path, {"/etc/dnf/plugins/versionlock.list": "kernel-6.1-2.el9"})
    packages = Probe(InventedNode(tmp_path, {RPM: "kernel\t6.1-2.el9\n"})).packages()
    assert packages["kernel"].held


def test_dpkg_beside_rpm_has_no_packages(tmp_path: Path) -> None:
    """EPEL has dpkg, for debootstrap. With an empty database `dpkg-query -W` prints nothing and ends with 0 (dpkg 1.21 and 1.22, with and without a file status)."""
    probe = Probe(InventedNode(tmp_path, {DPKG: "", RPM: "kernel\t6.1-2.el9\n"}))
    assert probe.packages()["kernel"].version == "6.1-2.el9"
    assert probe.are_of_rpm()
    with pytest.raises(ProbeError, match="rpm: "):
        Probe(InventedNode(tmp_path, {DPKG: ""})).packages()


def test_packages_of_dpkg_beside_the_folder_of_dnf(tmp_path: Path) -> None:
    """Debian and Ubuntu have dnf, whose package dnf-data brings /etc/dnf."""
    write_files(tmp_path, {"/etc/dnf/dnf.conf": "[main]\n"})
    assert not Probe(InventedNode(tmp_path, {DPKG: "bash\t1\tinstall\tinstalled\n", RPM: ""})).are_of_rpm()


# As dnf5 writes it (dnf5-plugin-versionlock(8); libdnf5 conf/const.hpp names the path): one held, one with an excluded version, one with a range.
LOCKED = """version = "1.0"
[[packages]]
name = "kernel"
comment = "added by 'dnf versionlock add'"
[[packages.conditions]]
key = "evr"
comparator = "="
value = "0:6.1-2.el10"
[[packages]]
name = "wget"
[[packages.conditions]]
key = "evr"
comparator = "!="
value = "0:1.19.6-5.fc29"
[[packages]]
name = "bash"
[[packages.conditions]]
key = "evr"
comparator = "<"
value = "6"
"""


def test_the_locks_of_dnf5(tmp_path: Path) -> None:
    pytest.importorskip("tomllib")
    write_files(tmp_path, {"/etc/dnf/versionlock.toml": LOCKED})
    listed = "".join(f"{name}\t6.1-2.el10\n" for name in ("kernel", "kernel-core", "wget", "bash"))
    packages = Probe(InventedNode(tmp_path, {RPM: listed})).packages()
    assert {name for name, package in packages.items() if package.held} == {"kernel"}


@pytest.mark.parametrize("text", ["version = ", "packages = 1\n", "[[packages]]\nname = 1\nconditions = [1]\n"])
def test_locks_that_cannot_be_read_are_no_absent_locks(text: str, tmp_path: Path) -> None:
    write_files(tmp_path, {"/etc/dnf/versionlock.toml": text})
    with pytest.raises(ProbeError, match=r"^/etc/dnf/versionlock\.toml: "):
        Probe(InventedNode(tmp_path, {RPM: "kernel\t6.1-2.el10\n"})).packages()


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (CommandResult(None, error="timed out after 20 s"), "systemctl: timed out after 20 s"),
        (CommandResult(1, stderr="Failed to connect\n to bus"), "systemctl: Failed to connect to bus"),
        (CommandResult(1), "systemctl: exit status 1"),
    ],
)
def test_no_answer_is_not_an_empty_answer(tmp_path: Path, result: CommandResult, error: str) -> None:
    probe = Probe(InventedNode(tmp_path, {SHOW + "ssh": result}))
    with pytest.raises(ProbeError, match=error):
        probe.units(["ssh"])
    with pytest.raises(ProbeError, match="rpm: "):
        probe.packages()
    with pytest.raises(ProbeError, match="/proc/self/mounts is absent"):
        probe.mounts()
    with pytest.raises(ProbeError, match="/proc/cmdline is absent"):
        probe.cmdline()


def test_this_machine() -> None:
    probe = Probe()
    assert probe.cmdline() is not None
    assert any(m.target == "/proc" for m in probe.mounts())
    assert probe.units([]) == {}
