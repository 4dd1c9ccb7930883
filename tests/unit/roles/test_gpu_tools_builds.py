"""Packages that the role builds: from a pinned commit, once, with a real apt as the one who reads the result."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from support.filters import filter_plugin
from support.local_play import role_tasks, run_play
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

plugin = filter_plugin("gpu_tools_builds")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
BUILD = {"name": "tool", "version": "1:1.2-1", "commit": COMMIT}
PACKAGE = {"name": "tool", "version": "1:1.2-1"}
INDEX = ROOT / "roles" / "gpu_tools" / "files" / "clusterctl-index-packages"


@pytest.mark.parametrize(
    ("builds", "packages", "family", "reason"),
    [
        ([BUILD], [PACKAGE], "Debian", ""),
        ([], [], "RedHat", ""),
        ([BUILD, BUILD], [PACKAGE], "Debian", "tool is built twice"),
        ([BUILD], [], "Debian", "tool 1:1.2-1 is built, but gpu_tools_packages has no version"),
        ([BUILD], [{**PACKAGE, "version": "1:1.3-1"}], "Debian", "gpu_tools_packages has 1:1.3-1"),
        ([{**BUILD, "commit": "v1.2"}], [PACKAGE], "Debian", "commit v1.2 is not a full commit id"),
        ([BUILD], [PACKAGE], "RedHat", "provide them in a repository"),
    ],
)
def test_builds_that_are_refused(builds: list[dict[str, Any]], packages: list[dict[str, Any]], family: str, reason: str) -> None:
    errors = plugin.build_errors(builds, packages, family)
    assert bool(errors) == bool(reason)
    assert all(reason in e for e in errors)


def test_another_commit_is_another_file() -> None:
    assert plugin.build_file(BUILD, "amd64") == "tool_1.2-1_0123456789ab_amd64.deb"


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"]
    return subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def source(tmp_path: Path) -> tuple[Path, str]:
    if not shutil.which("git") or not shutil.which("dpkg-deb"):
        pytest.skip("git or dpkg-deb is not installed")
    folder = tmp_path / "source"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "tool.sh").write_text("#!/bin/sh\necho pinned\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "1.2")
    commit = git(folder, "rev-parse", "HEAD")
    (folder / "tool.sh").write_text("#!/bin/sh\necho newer\n")
    git(folder, "commit", "-q", "-a", "-m", "1.3")
    return folder, commit


def shell_with_umask(root: Path, umask: str) -> Path:
    shell = root / "shell"
    shell.write_text(f'#!/bin/sh\numask {umask}\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    return shell


def play(root: Path, builds: list[dict[str, Any]], umask: str = "") -> tuple[int, str]:
    """Run the role's task file build on this machine, as a user with this umask; folders and cache are below `root`."""
    variables = {
        "gpu_tools_builds": builds,
        "gpu_tools_build_dir": str(root / "node"),
        "gpu_tools_cache_dir": str(root / "cache"),
    }
    # Modules run under it by `sh -c`, as by the shell of a login.
    shell = {"ansible_shell_executable": str(shell_with_umask(root, umask)), "ansible_connection": "local"} if umask else {}
    done = run_play(root, role_tasks("gpu_tools", "build"), variables=variables | shell, keywords={"gather_facts": True})
    return done.code, done.output


def test_a_package_is_built_once_from_the_pinned_commit(tmp_path: Path, source: tuple[Path, str]) -> None:
    repository, commit = source
    build = {
        **BUILD,
        "repository": str(repository),
        "commit": commit,
        "depends": ["libc6"],
        "commands": ['install -D tool.sh "$DESTDIR/usr/bin/tool"', f"echo built >> {tmp_path}/log"],
    }
    for _ in range(2):
        code, output = play(tmp_path, [build])
        assert code == 0, output
    assert (tmp_path / "log").read_text() == "built\n"
    (deb,) = (tmp_path / "node" / "packages").glob("*.deb")
    assert (tmp_path / "cache" / deb.name).read_bytes() == deb.read_bytes()
    subprocess.run(["dpkg-deb", "--extract", str(deb), str(tmp_path / "tree")], check=True)
    assert "pinned" in (tmp_path / "tree/usr/bin/tool").read_text()
    index = (tmp_path / "node" / "packages" / "Packages").read_text()
    assert "Version: 1:1.2-1\n" in index
    assert f"Clusterctl-Commit: {commit}\n" in index
    assert f"Filename: ./{deb.name}\n" in index
    assert "changed=0" in play(tmp_path, [build])[1]


def test_a_build_that_fails_leaves_no_package(tmp_path: Path, source: tuple[Path, str]) -> None:
    repository, commit = source
    build = {**BUILD, "repository": str(repository), "commit": commit, "commands": ["false", 'install -D tool.sh "$DESTDIR/usr/bin/tool"']}
    code, output = play(tmp_path, [build])
    assert code != 0
    assert "Build the package" in output
    assert list((tmp_path / "node").rglob("*.deb")) == []
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("umask", ["027", "077"])
def test_the_umask_of_a_hardened_node_reaches_neither_package_nor_index(umask: str, tmp_path: Path, source: tuple[Path, str]) -> None:
    """dpkg-deb refuses a control folder that not everybody can read (dpkg, src/deb/build.c); apt reads the index as the user _apt."""
    repository, commit = source
    copied = ['mkdir -p "$DESTDIR/usr/share/tool" && cp tool.sh "$DESTDIR/usr/share/tool/"']
    code, output = play(tmp_path, [{**BUILD, "repository": str(repository), "commit": commit, "commands": copied}], umask)
    assert code == 0, output
    (deb,) = (tmp_path / "node" / "packages").glob("*.deb")
    listed = subprocess.run(["dpkg-deb", "--contents", str(deb)], check=True, capture_output=True, text=True).stdout
    modes = {line.split()[-1]: line.split()[0] for line in listed.splitlines()}
    assert (modes["./usr/share/tool/"], modes["./usr/share/tool/tool.sh"]) == ("drwxr-xr-x", "-rw-r--r--")
    assert (tmp_path / "node" / "packages" / "Packages").stat().st_mode & 0o777 == 0o644
