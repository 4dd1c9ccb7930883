"""storage_throughput.py with processes as nodes: what it prints, what it refuses, and that nothing of it stays."""

from __future__ import annotations

import os
import shutil
import signal
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.core.parsers import parse_output
from clusterctl.model.gate_result import Outcome
from clusterctl_tools import storage_throughput
from support.agents import AgentNode, address_of, program
from support.ports import free_port
from support.shared_storage import LOAD, MOUNT, StorageNode, mount_table, storage_subject

if TYPE_CHECKING:
    from clusterctl_tools.storage_throughput import StorageLoad, StorageRun

# What a test does to a node, before its main.
NO_WRITES = "import errno, storage_files\ndef broken(self, file): raise OSError(errno.EIO, 'Input/output error')\nstorage_files.Checkpoint._write = broken"
OTHER_CONTENT = """
import os, storage_files
write = storage_files.Checkpoint.write
def spoilt(self):
    found = write(self)
    opened = os.open('file1', os.O_WRONLY, dir_fd=self.folder)
    os.pwrite(opened, b'other', 70000)
    os.close(opened)
    return found
storage_files.Checkpoint.write = spoilt
"""
CUT_OFF = OTHER_CONTENT.replace("os.pwrite(opened, b'other', 70000)", "os.ftruncate(opened, 70000)")
LOCAL_LOCKS = "import storage_sharing\nstorage_sharing.LOCKS = dict.fromkeys(storage_sharing.LOCKS, lambda *_: None)"
NO_LOCKS = (
    "import errno, storage_sharing\ndef none(*_): raise OSError(errno.ENOLCK, 'No locks available')\nstorage_sharing.LOCKS['fcntl'] = none"
)
NO_ANSWERS = "import storage_sharing\nstorage_sharing.NEVER_S = 0.3\nstorage_sharing.Exchange.answer = lambda self: False"
NO_DIRECT_IO = "import storage_files\nstorage_files.Checkpoint._open_direct = lambda *_: None"
SIGNALS_WHILE_IT_REMOVES = """
import file_barrier, os, signal
def remove(*names, rest=file_barrier.remove_tree):
    os.kill(os.getpid(), signal.SIGTERM)
    rest(*names)
file_barrier.remove_tree = remove
"""
SLEEPY = "import time, storage_files\nstorage_files.small_files = script.small_files = lambda *_: time.sleep(60)"


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """A folder that the list of mounts has."""
    folder = tmp_path / "mount"
    folder.mkdir()
    mount_table(tmp_path, folder)
    return folder


def group(mount: Path, count: int = 2, load: StorageLoad = LOAD, patches: dict[int, str] | None = None) -> list[tuple[int, StorageRun]]:
    nodes = [StorageNode(mount.parent, mount, i, count, load, (patches or {}).get(i, "")) for i in range(count)]
    return [(status, storage_throughput.read_run(text)) for status, text in (n.end() for n in nodes)]


def entries(mount: Path) -> list[str]:
    return sorted(str(p.relative_to(mount)) for p in mount.rglob("*"))


def test_three_nodes_together_and_nothing_stays(tmp_path: Path, mount: Path) -> None:
    nodes = [StorageNode(tmp_path, mount, i, 3) for i in range(3)]
    for number, (status, text) in enumerate(n.end() for n in nodes):
        run = storage_throughput.read_run(text)
        assert (status, run.ended, run.problem, run.errors, run.wrong) == (0, True, "", (), 0)
        assert (run.mount, run.fstype, run.source, run.number, run.nodes) == (str(mount), "nfs4", "nas1:/scratch", number, 3)
        assert run.written is not None
        assert run.written.done_bytes == run.written.asked_bytes == 2 * 4 << 20
        assert run.other_read is not None
        assert (run.other_read.done_bytes, run.other_wrong) == (4 << 20, 0)
        assert [(lock.kind, lock.held, lock.while_held, lock.when_free) for lock in run.locks] == [
            ("flock", True, "refused", "granted"),
            ("fcntl", True, "refused", "granted"),
        ]
        assert (run.asked, len(run.round_trips_s)) == (3, 3)
        assert [s.metric for s in parse_output("storage_throughput", text)][:2] == ["write_bandwidth", "read_bandwidth"]
    assert entries(mount) == ["burn", "burn/in"]


def test_nothing_is_written_where_nothing_is_mounted(tmp_path: Path, mount: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    mount_table(tmp_path, other)
    for index in (0, 1):
        status, text = StorageNode(tmp_path, mount, index, 2).end()
        assert (status, storage_throughput.read_run(text).problem) == (storage_throughput.NOT_MOUNTED, "not_mounted")
    assert entries(mount) == []


def test_the_descriptor_counts_and_not_the_name(tmp_path: Path, mount: Path) -> None:
    """The list has a mount there, but what is opened is something else: it was unmounted, or mounted over."""
    table = tmp_path / "mountinfo"
    table.write_text("9999" + table.read_text().lstrip("0123456789"))
    status, _ = StorageNode(tmp_path, mount, 0, 2).end()
    assert (status, entries(mount)) == (storage_throughput.NOT_MOUNTED, [])


def test_an_automount_that_was_not_triggered_is_no_mount(tmp_path: Path, mount: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(table.read_text().replace("nfs4", "autofs"))
    status, _ = StorageNode(tmp_path, mount, 0, 2).end()
    assert (status, entries(mount)) == (storage_throughput.NOT_MOUNTED, [])


def test_no_link_leads_to_another_folder(tmp_path: Path, mount: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (mount / "burn").symlink_to(away)
    status, text = StorageNode(tmp_path, mount, 0, 2).end()
    assert (status, storage_throughput.read_run(text).problem) == (storage_throughput.IO_ERROR, "io_error")
    assert list(away.iterdir()) == []


@pytest.mark.parametrize("folder", ["..", "../out", "burn/../../out"])
def test_no_folder_leads_out_of_the_mount(tmp_path: Path, mount: Path, folder: str) -> None:
    status, text = StorageNode(tmp_path, mount, 0, 2, LOAD._replace(folder=folder)).end()
    assert (status, storage_throughput.read_run(text).problem) == (storage_throughput.NOT_MOUNTED, "not_mounted")
    assert (entries(mount), (tmp_path / "out").exists()) == ([], False)


def test_a_file_system_is_not_filled(tmp_path: Path, mount: Path) -> None:
    status, text = StorageNode(tmp_path, mount, 0, 2, LOAD._replace(file_mib=1 << 40)).end()
    run = storage_throughput.read_run(text)
    assert (status, run.problem, entries(mount)) == (storage_throughput.NO_SPACE, "no_space", [])
    assert "MiB are free" in run.detail


def test_the_next_run_removes_what_a_dead_one_left_and_nothing_else(mount: Path) -> None:
    folder = mount / "burn" / "in"
    old = time.time() - 1000
    dead, begun, living = (f"{dot}run-{digit * 16}-{limit}" for dot, digit, limit in (("", "a", 600), (".", "b", 600), ("", "c", 3600)))
    foreign = ["run-of-mine", "run-1234-5", f"run-{'d' * 16}-x", f"old-run-{'e' * 16}-5"]
    for name in (dead, begun, living, *foreign):
        (folder / name / "0").mkdir(parents=True)
        (folder / name / "0" / "file0").write_text("x")
    target = mount / "target"
    target.write_text("kept")
    (folder / dead / "0" / "link").symlink_to(target)
    for name in (dead, begun, living, *foreign):
        os.utime(folder / name, (old, old))
    assert [status for status, _ in group(mount)] == [0, 0]
    assert sorted(p.name for p in folder.iterdir()) == sorted([living, *foreign])
    assert target.read_text() == "kept"


def test_a_node_that_is_ended_removes_its_files_and_the_others_name_it(tmp_path: Path, mount: Path) -> None:
    nodes = [StorageNode(tmp_path, mount, i, 3, LOAD, SLEEPY if i == 1 else "") for i in range(3)]
    wait_for_file(mount, "at4/2")
    nodes[1].process.terminate()
    begun = time.monotonic()
    found = [n.end() for n in nodes]
    assert time.monotonic() - begun < 10
    assert [status for status, _ in found] == [storage_throughput.ALONE, 1, storage_throughput.ALONE]
    assert [storage_throughput.read_run(text).missing for _, text in found] == [(1,), (), ()]
    assert entries(mount) == ["burn", "burn/in"]


def test_a_node_that_is_ended_while_it_writes_stops_and_removes_its_files(tmp_path: Path, mount: Path) -> None:
    slow = "import os, time, storage_files\nstorage_files.os.write = lambda f, b, w=os.write: (time.sleep(0.2), w(f, b[:65536]))[1]"
    nodes = [StorageNode(tmp_path, mount, i, 2, LOAD, slow) for i in range(2)]
    wait_for_file(mount, "1/file0")
    nodes[1].process.terminate()
    begun = time.monotonic()
    assert nodes[1].end()[0] == 1
    assert time.monotonic() - begun < 5
    assert not list(mount.glob("burn/in/run-*/1"))
    nodes[0].process.terminate()
    nodes[0].end()
    assert entries(mount) == ["burn", "burn/in"]


def test_a_second_process_of_the_same_node_touches_nothing_of_the_first(tmp_path: Path, mount: Path) -> None:
    nodes = [StorageNode(tmp_path, mount, i, 2, LOAD, SLEEPY) for i in range(2)]
    wait_for_file(mount, "at3/0")
    status, text = StorageNode(tmp_path, mount, 1, 2).end()
    assert (status, "EEXIST" in storage_throughput.read_run(text).detail) == (storage_throughput.IO_ERROR, True)
    assert list(mount.glob("burn/in/run-*/1/file0"))
    for one in nodes:
        one.process.terminate()
        one.end()
    assert entries(mount) == ["burn", "burn/in"]


@pytest.mark.parametrize(
    ("patch", "status"),
    [("", 0), ("script.small_files = lambda *_: sys.exit(1)", 1), ("script.small_files = lambda *_: os.kill(os.getpid(), 15)", 1)],
    ids=["at the end", "after an error", "a second one"],
)
def test_a_signal_does_not_end_the_removal(mount: Path, patch: str, status: int) -> None:
    """Found by chance: node 1 had heard that node 0 left, and was ended while it removed the folder of the run."""
    found = group(mount, patches={0: SIGNALS_WHILE_IT_REMOVES, 1: SIGNALS_WHILE_IT_REMOVES + patch})
    assert [status for status, _ in found] == [storage_throughput.ALONE if status else 0, status]
    assert entries(mount) == ["burn", "burn/in"]


def test_what_a_killed_run_left_is_gone_after_the_next_one(tmp_path: Path, mount: Path) -> None:
    nodes = [StorageNode(tmp_path, mount, i, 2, LOAD, SLEEPY) for i in range(2)]
    wait_for_file(mount, "at3/0")
    for one in nodes:
        one.process.send_signal(signal.SIGKILL)
        one.process.wait()
    (left,) = (mount / "burn" / "in").iterdir()
    assert list(left.rglob("file0"))
    os.utime(left, (0, 0))
    again = [StorageNode(tmp_path, mount, i, 2, run="r2") for i in range(2)]
    assert [n.end()[0] for n in again] == [0, 0]
    assert entries(mount) == ["burn", "burn/in"]


def test_a_node_that_never_comes_is_named(mount: Path) -> None:
    ((status, run),) = [
        (s, storage_throughput.read_run(t)) for s, t in [StorageNode(mount.parent, mount, 0, 2, LOAD._replace(limit_s=42)).end()]
    ]
    assert (status, run.problem, run.missing, entries(mount)) == (storage_throughput.ALONE, "alone", (1,), ["burn", "burn/in"])


@pytest.mark.parametrize("patch", [OTHER_CONTENT, CUT_OFF])
def test_another_content_than_was_written_is_seen(mount: Path, patch: str) -> None:
    (_, good), (status, bad) = group(mount, patches={1: patch})
    assert (good.wrong, status, bad.wrong, bad.wrong_first) == (0, 0, 1, ((1, 0),))


def test_another_content_of_the_next_node_is_seen(mount: Path) -> None:
    (_, reader), (_, writer) = group(mount, patches={1: OTHER_CONTENT.replace("file1", "file0")})
    assert (reader.wrong, reader.other_wrong, writer.wrong, writer.other_wrong) == (0, 1, 1, 0)


def test_an_error_ends_a_phase_and_holds_up_nobody(mount: Path) -> None:
    (first, good), (second, bad) = group(mount, patches={1: NO_WRITES})
    assert (first, second, good.errors, good.ended, bad.ended) == (0, 0, (), True, True)
    assert [(e.phase, e.code, e.detail) for e in bad.errors] == [("write", "EIO", "Input/output error")]
    assert (bad.written, bad.read) == (None, None)
    assert good.other_read is not None
    assert good.other_read.done_bytes == 0
    assert entries(mount) == ["burn", "burn/in"]


def test_locks_that_a_node_keeps_to_itself_are_granted_twice(mount: Path) -> None:
    (_, good), (_, local) = group(mount, patches={1: LOCAL_LOCKS})
    assert {lock.while_held for lock in local.locks} == {"granted"}
    assert {lock.while_held for lock in good.locks} == {"granted"}


def test_a_mount_without_locks_says_so(mount: Path) -> None:
    _, (status, run) = group(mount, patches={1: NO_LOCKS})
    assert (status, [(e.phase, e.code) for e in run.errors]) == (0, [("lock", "ENOLCK")])


def test_a_write_that_is_never_answered_is_not_waited_for(mount: Path) -> None:
    (_, asker), (_, silent) = group(mount, patches={0: "import storage_sharing; storage_sharing.NEVER_S = 0.3", 1: NO_ANSWERS})
    assert (asker.asked, asker.round_trips_s) == (1, ())
    assert (silent.asked, len(silent.round_trips_s)) == (3, 3)


def test_without_direct_io_the_cache_may_have_answered(mount: Path) -> None:
    (_, one), (_, other) = group(mount, patches={1: NO_DIRECT_IO})
    assert (one.wrong, other.wrong, other.direct) == (0, 0, False)


def test_script_and_tool_agree() -> None:
    script = program("storage_throughput")
    tool = storage_throughput
    assert (script.NOT_MOUNTED, script.IO_ERROR, script.ALONE, script.NO_SPACE) == (
        tool.NOT_MOUNTED,
        tool.IO_ERROR,
        tool.ALONE,
        tool.NO_SPACE,
    )
    assert program("storage_files").SHOWN == tool._SHOWN
    assert program("storage_files").BLOCK == tool.BLOCK_MIB << 20
    assert program("storage_sharing").NEVER_S == tool.NEVER_S
    assert tuple(program("storage_sharing").LOCKS) == tool.LOCK_KINDS


def wait_for_file(mount: Path, name: str) -> None:
    until = time.monotonic() + 20
    while not list(mount.glob(f"burn/in/run-*/{name}")):
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no file system is mounted at /dev/shm")
def test_agents_run_the_planned_steps_on_a_file_system_that_is_really_mounted(tmp_path: Path) -> None:
    folder = f"clusterctl-test-{os.getpid()}"
    mount = {**MOUNT, "path": "/dev/shm"}
    subjects = [storage_subject(n, mounts=[mount], folder=folder, files=2, file_mib=4, small_files=20, asks=3) for n in ("n1", "n2")]
    planned = plan_gates(subjects, "full", ["storage_throughput"], BurnInPart.GROUP).steps
    port = free_port()
    agents = []
    for name, (step, *_) in planned.items():
        others = [[n, address_of(n)] for n, _ in step.members]
        own = {
            **asdict(step),
            "members": others,
            "peer_address": address_of(step.peer) if step.peer else "",
            "exclusive": False,
            "timeout_s": 60,
        }
        agents.append(AgentNode(tmp_path, name, port, [own], limit_s=90).start())
    try:
        records = [record for one in agents for record in one.end().values()]
        results = judge(subjects, records, level="full", gates=["storage_throughput"])
        assert [(r.node, r.metric, r.detail) for r in results if r.outcome is not Outcome.PASS] == []
        assert len(results) == 2 * 6
        assert list(Path("/dev/shm", folder).iterdir()) == []
    finally:
        shutil.rmtree(f"/dev/shm/{folder}", ignore_errors=True)
