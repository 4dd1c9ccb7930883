"""Modules that are forked from one preloaded Python give the same results as modules that start their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import ansible
import pytest

from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

pytestmark = pytest.mark.slow
PROGRAM = ROOT / "on_node" / "clusterctl_on_node"
# what differs between two runs of the same task
VOLATILE = frozenset(
    {
        "src",
        "version",
        "PWD",
        "CLUSTERCTL_PRELOADED",
        "start",
        "end",
        "delta",
        "atime",
        "ctime",
        "mtime",
        "inode",
        "elapsed",
        "mode_time",
        "ansible_date_time",
        "exception",
    }
)
SHOW = ["sh", "-c", 'printf "%s|" "$DEBIAN_FRONTEND" "${EMPTY-unset}" "$QUOTED" "$PATH" "$LC_ALL"']
TASKS: list[dict[str, Any]] = [
    {"ansible.builtin.ping": {}},
    {"ansible.builtin.command": {"argv": ["printf", "%s|%s", "a b", "ü"]}},
    {"ansible.builtin.command": {"argv": ["sh", "-c", "echo out; echo err >&2; exit 3"]}},
    {"ansible.builtin.command": {"cmd": "no-such-program"}},
    {"ansible.builtin.shell": {"cmd": "cat; echo $((1+1)); umask", "stdin": "from stdin"}},
    {"ansible.builtin.command": {"argv": ["python3", "-c", "import ansible"]}},
    {"ansible.builtin.command": {"argv": SHOW}, "environment": {"DEBIAN_FRONTEND": "noninteractive", "PATH": "/opt/x:/usr/bin:/bin"}},
    {"ansible.builtin.command": {"argv": SHOW}, "environment": {"QUOTED": "a b'c\n", "EMPTY": "", "PATH": "/usr/bin:/bin"}},
    {"ansible.builtin.command": {"argv": ["date", "+%Z"]}, "environment": {"TZ": "Asia/Tokyo"}},
    {"ansible.builtin.setup": {"gather_subset": ["!all", "env"]}, "environment": {"OF_THE_TASK": "x=1"}},
    {"ansible.builtin.file": {"path": "{{ work }}/d", "state": "directory", "mode": "0750"}},
    {"ansible.builtin.copy": {"content": "one\ntwo\n", "dest": "{{ work }}/d/f", "mode": "0640"}},
    {"ansible.builtin.copy": {"content": "one\ntwo\n", "dest": "{{ work }}/d/f", "mode": "0640"}},
    {"ansible.builtin.lineinfile": {"path": "{{ work }}/d/f", "line": "three"}},
    {"ansible.builtin.replace": {"path": "{{ work }}/d/f", "regexp": "o", "replace": "0"}},
    {"ansible.builtin.slurp": {"src": "{{ work }}/d/f"}},
    {"ansible.builtin.slurp": {"src": "{{ work }}/absent"}},
    {"ansible.builtin.stat": {"path": "{{ work }}/d/f"}},
    {"ansible.builtin.find": {"paths": "{{ work }}", "recurse": True}},
    {"ansible.builtin.file": {"path": "{{ work }}/d", "state": "wrong"}},
    {"ansible.builtin.getent": {"database": "passwd", "key": "root"}},
    {"ansible.builtin.setup": {"gather_subset": ["!all", "min"]}},
    {"ansible.builtin.uri": {"url": "http://127.0.0.1:1/"}},
    {"ansible.builtin.wait_for": {"path": "{{ work }}/d/f", "timeout": 2}},
    {"ansible.builtin.systemd_service": {"name": "no-such.service", "state": "started"}},
    {"ansible.builtin.dpkg_selections": {"name": "no-such-package", "selection": "hold"}},
    {"ansible.builtin.command": {"argv": ["sh", "-c", "kill -9 $PPID"]}},
    {"ansible.builtin.ping": {"data": "crash"}},
    {"ansible.builtin.ping": {"data": "after"}},
    {"ansible.builtin.file": {"path": "{{ work }}/d", "state": "absent"}},
]


def results(
    tmp_path: Path, connection: str, given: Sequence[Mapping[str, Any]] = TASKS, lib: Path = Path(ansible.__file__).parents[1]
) -> list[Any]:
    """The result of each task."""
    folder = tmp_path / connection
    folder.mkdir()
    tasks = [
        {"environment": {"LC_ALL": "C"} if i % 5 == 4 else {}, **task, "register": f"r{i}", "ignore_errors": True}
        for i, task in enumerate(given)
    ]
    dump = {
        "ansible.builtin.copy": {
            "content": "{{ [" + ", ".join(f"r{i}" for i in range(len(given))) + "] | to_json }}",
            "dest": str(folder / "out"),
        }
    }
    play = [{"hosts": "all", "gather_facts": False, "tasks": [*tasks, dump]}]
    (folder / "play.yml").write_text(json.dumps(play))
    (folder / "hosts.json").write_text(
        json.dumps(
            {
                "all": {
                    "hosts": {
                        "n1": {
                            "ansible_connection": connection,
                            "work": str(tmp_path / "work"),
                            "ansible_python_interpreter": "/usr/bin/python3",
                        }
                    }
                }
            }
        )
    )
    (tmp_path / "work").mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="preloaded-") as short:  # the path of a socket has at most 107 bytes
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_CONNECTION_PLUGINS": str(plugins(tmp_path)),
            "CLUSTERCTL_PRELOADED": f"{short}/python",
            "CLUSTERCTL_PRELOADED_LIB": str(lib),
        }
        binary = Path(sys.executable).with_name("ansible-playbook")
        done = subprocess.run(
            [binary, "-i", folder / "hosts.json", folder / "play.yml"],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
        )
        sockets = [path.name for path in Path(short).glob("python/usr*")]
    assert done.returncode == 0, done.stdout + done.stderr
    assert sockets == (["usr_bin_python3"] if connection == "preloaded" else []), "the short way was used"
    assert "Skipping plugin" not in done.stdout + done.stderr
    found: list[Any] = json.loads((folder / "out").read_text())
    return found


def plugins(tmp_path: Path) -> Path:
    """The folder of plug-ins as it is on a node: with the program that they start."""
    folder = tmp_path / "plugins" / "connection"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "preloaded.py").write_bytes((PROGRAM / "connection" / "preloaded.py").read_bytes())
    (folder.parent / "preloaded_python.py").write_bytes((PROGRAM / "preloaded_python.py").read_bytes())
    return folder


def settled(value: Any) -> Any:
    """Without what differs between two runs."""
    if isinstance(value, dict):
        return {k: settled(v) for k, v in value.items() if k not in VOLATILE}
    if isinstance(value, list):
        return [settled(v) for v in value]
    return "" if value == "Killed\n" else value  # the shell's own words; the exit status is compared


def test_every_module_gives_the_same_result(tmp_path: Path) -> None:
    local, preloaded = results(tmp_path, "local"), results(tmp_path, "preloaded")
    for task, expected, found in zip(TASKS, local, preloaded, strict=True):
        assert settled(found) == settled(expected), task


@pytest.mark.parametrize(
    ("variables", "forked"),
    [
        ({}, True),
        ({"OF_THE_TASK": "1", "PATH": "/usr/bin:/bin"}, True),
        ({"OF_THE_TASK": "a b"}, False),
        ({"LC_ALL": "C"}, False),
        ({"HOME": "/opt"}, False),
    ],
)
def test_variables_of_a_task_need_no_start_of_python_unless_it_reads_them_then(
    tmp_path: Path, variables: dict[str, str], forked: bool
) -> None:
    show = {"ansible.builtin.command": {"argv": ["sh", "-c", "cat /proc/$PPID/cmdline"]}}
    first, found = results(tmp_path, "preloaded", [show, {**show, "environment": variables}])
    assert "preloaded_python.py" in first["stdout"]
    assert ("preloaded_python.py" in found["stdout"]) is forked


def test_a_module_is_compiled_once(tmp_path: Path) -> None:
    """Its code is kept beside it, as that of any module that Python imports: on a node that is in the unpacked archive."""
    lib, installed = tmp_path / "lib", Path(ansible.__file__).parent
    for name in ("_vendor", "module_utils", "modules"):
        shutil.copytree(installed / name, lib / "ansible" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "release.py"):
        shutil.copy(installed / name, lib / "ansible" / name)
    results(tmp_path, "preloaded", [{"ansible.builtin.ping": {}}], lib)
    assert list((lib / "ansible" / "modules" / "__pycache__").glob("ping.*.pyc"))
