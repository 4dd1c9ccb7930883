from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import sources
from clusterctl_validators.sources import LocalSource, ProbeError

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = LocalSource()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_run() -> None:
    result = LOCAL.run(["sh", "-c", "echo out; echo err >&2; exit 3"], 5)
    assert (result.rc, result.stdout, result.stderr, result.error) == (3, "out\n", "err\n", "")


def test_run_in_english_and_without_a_shell() -> None:
    assert LOCAL.run(["printenv", "LANG", "LC_ALL"], 5).stdout == "C\nC\n"
    assert LOCAL.run(["echo", "$HOME;`id`"], 5).stdout == "$HOME;`id`\n"


def test_run_finds_tools_in_sbin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "/usr/sbin" in LOCAL.run(["printenv", "PATH"], 5).stdout


@pytest.mark.parametrize(("argv", "error"), [(["no-such-tool"], "No such file or directory"), (["/etc/passwd"], "Permission denied")])
def test_a_tool_that_cannot_be_run(argv: list[str], error: str) -> None:
    result = LOCAL.run(argv, 5)
    assert result.rc is None
    assert result.error == f"{argv[0]}: {error}"


def test_a_hung_tool_and_its_children_are_killed() -> None:
    began = time.monotonic()
    result = LOCAL.run(["sh", "-c", "sleep 300 & echo $!; wait"], 0.3)
    assert time.monotonic() - began < 5
    assert (result.rc, result.error) == (None, "timed out after 0.3 s")
    child = int(result.stdout)
    deadline = time.monotonic() + 5
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


def test_a_daemon_that_keeps_the_pipes_open_does_not_block() -> None:
    began = time.monotonic()
    result = LOCAL.run(["sh", "-c", "echo done; setsid sleep 5 &"], 0.3)
    assert time.monotonic() - began < 4
    assert result.error == "timed out after 0.3 s"


def test_too_much_output_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "OUTPUT_LIMIT_BYTES", 1024 * 1024)
    result = LOCAL.run(["cat", "/dev/zero"], 20)
    assert (result.rc, result.error) == (None, "more than 1 MiB of output")


def test_read(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"caf\xe9\n")
    source = LocalSource(str(tmp_path))
    assert source.read("/there") == "caf\ufffd\n"
    assert source.read("/absent") is None
    assert source.read("/there/below") is None
    with pytest.raises(ProbeError, match="/: Is a directory"):
        source.read("/")


def test_glob(tmp_path: Path) -> None:
    for name in ("b1", "a1", "c2"):
        (tmp_path / name).touch()
    assert LocalSource(str(tmp_path)).glob("/*1") == ["/a1", "/b1"]
    assert LocalSource(str(tmp_path)).glob("/none*") == []


def test_owner_and_mode_are_those_that_stat_prints(tmp_path: Path) -> None:
    root = LocalSource(str(tmp_path))
    (tmp_path / "file").touch(mode=0o600)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").chmod(0o1777)
    (tmp_path / "link").symlink_to("/nowhere")
    for name in ("file", "folder", "link"):
        printed = LOCAL.run(["stat", "-c", "%U %a", str(tmp_path / name)], 5).stdout.split()
        assert root.owner_and_mode(f"/{name}") == tuple(printed)
    assert root.owner_and_mode("/absent") is None


def test_an_owner_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    (tmp_path / "file").touch(mode=0o644)
    assert LocalSource(str(tmp_path)).owner_and_mode("/file") == ("UNKNOWN", "644")
