"""Files that would hold up the reader of an inventory, or take all memory; and a reader whose parent is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.load import list_hosts
from clusterctl.model.errors import ClusterctlError, ConfigError

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = "all: {hosts: {n1: {}}}\n"


@pytest.fixture(autouse=True)
def inventory_workers() -> None:
    """Workers as users have them: these tests are about their processes."""


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    (tmp_path / "site" / "group_vars").mkdir(parents=True)
    (tmp_path / "site" / "hosts.yml").write_text(HOSTS)
    return tmp_path / "site"


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines) + "\n"


def test_a_yaml_bomb_is_named_at_once(layer: Path) -> None:
    (layer / "group_vars" / "all.yml").write_text(bomb(10))
    began = time.monotonic()
    with pytest.raises(ConfigError, match=r"all\.yml: its YAML aliases expand to more than 5,000,000 values") as caught:
        list_hosts([layer])
    assert caught.value.hint
    assert time.monotonic() - began < 10


def test_beside_a_layer_that_is_a_file_too(layer: Path) -> None:
    (layer / "group_vars" / "all.yml").write_text(bomb(10))
    with pytest.raises(ConfigError, match="aliases"):
        list_hosts([layer / "hosts.yml"])


@pytest.mark.parametrize("text", [bomb(3), "a: '*x'\nb: {{ c * d }}\n", "a: &x 1\nb: *x\n"])
def test_aliases_as_people_use_them_are_fine(layer: Path, text: str) -> None:
    (layer / "group_vars" / "other.yml").write_text(text)
    assert [h.name for h in list_hosts([layer]).hosts] == ["n1"]


@pytest.mark.parametrize("place", ["hosts.yml", "group_vars/all.yml"])
def test_another_encoding_is_named_with_its_line(layer: Path, place: str) -> None:
    (layer / place).write_bytes(f"{HOSTS if place == 'hosts.yml' else 'a: 1'}\n# M\u00fcller\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=rf"{place}:[23]: byte 0xfc is not UTF-8"):
        list_hosts([layer])


@pytest.mark.parametrize("place", ["hosts.yml", "group_vars/all.yml"])
def test_a_fifo_is_refused_and_not_waited_for(layer: Path, place: str) -> None:
    (layer / place).unlink(missing_ok=True)
    os.mkfifo(layer / place)
    for source in (layer, layer / "hosts.yml"):
        with pytest.raises(ConfigError, match=r"\.yml: is not a regular file"):
            list_hosts([source])


def test_a_socket_is_refused(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(layer)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s.yml")
        with pytest.raises(ConfigError, match="is not a regular file"):
            list_hosts([layer])


def test_deep_nesting_is_an_error_of_the_inventory(layer: Path) -> None:
    (layer / "hosts.yml").write_text(f"all: {{hosts: {{n1: {{a: {'[' * 5000}{']' * 5000}}}}}}}\n")
    with pytest.raises(ClusterctlError) as caught:
        list_hosts([layer])
    assert "Traceback" not in str(caught.value)


def test_the_reader_ends_with_its_parent(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys\n"
        "child = 'import os, time; from clusterctl.adapters.inventory.ansible_worker.confinement import confine;'"
        "' confine(os.getppid()); print(os.getpid(), flush=True); time.sleep(60)'\n"
        "subprocess.run([sys.executable, '-c', child])\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        reader = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    deadline = time.monotonic() + 10
    while _runs(reader) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(reader)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
