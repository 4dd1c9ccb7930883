"""The view, each time in a process of its own, because a process cannot leave it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import read_only_view
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTER = """
import os, sys
sys.path[:0] = sys.argv[1].split(os.pathsep)
from clusterctl_validators import read_only_view
def tried(path):
    try:
        with open(path, "a") as file:
            file.write("")
        return "written"
    except OSError as e:
        return e.strerror
"""


def child(script: str, *argv: str, prefix: tuple[str, ...] = ()) -> list[str]:
    words = [*prefix, sys.executable, "-c", ENTER + script, f"{ROOT}/validators{os.pathsep}{ROOT}/tools", *argv]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()


@pytest.fixture
def enforced() -> None:
    (view,) = child("print(read_only_view.enter())")
    if view != "read-only":
        pytest.skip(f"the view is {view} here")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not below /tmp."""
    path = Path(tempfile.mkdtemp(dir="/var/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.mark.usefixtures("enforced")
def test_only_listed_files_are_writable(folder: Path) -> None:
    for name in ("a1", "a2", "b"):
        (folder / name).mkdir()
    mounts = Path("/proc/self/mountinfo").read_text()
    in_tmp = Path("/tmp") / folder.name
    script = """
print(read_only_view.enter([sys.argv[2] + "/a*", sys.argv[2] + "/absent"]))
print([tried(sys.argv[2] + f) for f in ("/a1/x", "/a2/x", "/b/x", "/x")])
print([tried(f) for f in ("/etc/x", "/proc/sys/vm/swappiness", "/dev/null", sys.argv[3])])
"""
    view, named, others = child(script, str(folder), str(in_tmp))
    assert view == f"read-only (except {folder}/a*)"
    refused = "Read-only file system"
    assert named == str(["written", "written", refused, refused])
    # A checkout below /tmp must stay visible, so /tmp gets no empty file system of its own.
    tmp = refused if ROOT.is_relative_to("/tmp") else "written"
    assert others == str([refused, refused, "written", tmp])
    assert Path("/proc/self/mountinfo").read_text() == mounts, "mounts outside are unchanged"
    assert not in_tmp.exists()


@pytest.mark.usefixtures("enforced")
def test_a_bundle_below_tmp_stays_visible(tmp_path: Path) -> None:
    file = tmp_path / "bundle"
    file.write_text("")
    if not str(file).startswith("/tmp/"):
        pytest.skip("temporary folders are elsewhere here")
    script = "print(read_only_view.enter(keep=sys.argv[2]), os.path.exists(sys.argv[2]), tried(sys.argv[2]))"
    assert child(script, str(file)) == ["read-only True Read-only file system"]


@pytest.mark.usefixtures("enforced")
def test_a_mount_removed_outside_is_not_kept_busy(folder: Path) -> None:
    """A hanging check must not keep a file system busy that an administrator unmounts."""
    script = """
import subprocess
path = sys.argv[2]
subprocess.run(["mount", "-t", "tmpfs", "none", path], check=True)
go_in, go_on = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    print(read_only_view.enter(), path in open("/proc/self/mountinfo").read(), flush=True)
    os.write(go_in[1], b"x")
    os.read(go_on[0], 1)
    print(path in open("/proc/self/mountinfo").read(), flush=True)
    os._exit(0)
os.read(go_in[0], 1)
subprocess.run(["umount", path], check=True)
os.write(go_on[1], b"x")
os.waitpid(pid, 0)
"""
    output = child(script, str(folder), prefix=("unshare", "--mount", "--propagation", "shared"))
    assert output == ["read-only True", "False"]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_the_checks_run_without_the_privilege_for_a_view() -> None:
    dropped = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    output = child("print(read_only_view.enter()); print(tried('/dev/null'))", prefix=dropped)
    assert output == ["not enforced (unshare: Operation not permitted)", "written"]


def test_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert read_only_view.enter() == "not enforced (not root)"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_an_older_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_only_view, "_MOUNT_SETATTR", 9999)
    assert read_only_view.enter() == "not enforced (mount_setattr: Function not implemented; requires Linux 5.12)"
