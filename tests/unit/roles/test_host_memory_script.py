"""host_memory.py on a made-up machine: how much memory it asks for, whose memory it leaves alone, and what it says where that does not work."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import parse_output
from clusterctl.model.gate_result import Outcome
from clusterctl.model.level import LEVELS
from clusterctl_tools import host_memory
from clusterctl_tools.stressapptest import read_stress
from support.agents import FILES, AgentNode, program, step
from support.checks import write_files
from support.gates import TODAY, gates, node
from support.host_memory import memory_record
from support.ports import free_port
from support.unpacked_tools import environment, which

if TYPE_CHECKING:
    from pathlib import Path

script = program("host_memory")
MEMINFO = "MemTotal:       {total} kB\nMemFree:        {free} kB\nMemAvailable:   {available} kB\nHugePages_Total:     512\n"
NODE = "Node {number} MemTotal:  {total} kB\nNode {number} MemFree:   {free} kB\n"
GIB = 1 << 20
# It prints its arguments; `{then}` is what becomes of it.
STRESSAPPTEST = "#!{python}\nimport os, sys, time, signal, pathlib\nprint('argv', *sys.argv[1:], flush=True)\n{then}\n"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Two sockets of 128 GiB, 200 of 256 GiB free."""
    memory = MEMINFO.format(total=256 * GIB, free=20 * GIB, available=200 * GIB)
    nodes = {
        f"/sys/devices/system/node/node{i}/{name}": text
        for i in (0, 1)
        for name, text in {"cpulist": f"{i * 56}-{i * 56 + 55}\n", "meminfo": NODE.format(number=i, total=128 * GIB, free=10 * GIB)}.items()
    }
    write_files(tmp_path, {"/proc/meminfo": memory, "/proc/vmstat": "nr_free_pages 1\noom_kill 3\n", **nodes})
    return tmp_path


def run(machine: Path, capfd: pytest.CaptureFixture[str], *words: str, then: str = "") -> tuple[int, str]:
    fake = machine / "stressapptest"
    fake.write_text(STRESSAPPTEST.format(python=sys.executable, then=then))
    fake.chmod(0o755)
    status: int = script.main(["--seconds", "9", *(words or ("--program", str(fake)))], machine)
    return status, capfd.readouterr().out


def test_it_asks_for_what_is_free_less_what_the_system_needs(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, printed = run(machine, capfd)
    load = host_memory.read_load(printed)
    asked = 200 * 1024 * 95 // 100 - 192
    assert (status, load.node_mib, load.free_mib, load.asked_mib) == (0, 256 * 1024, 200 * 1024, asked)
    assert (load.exit_status, load.oom_kills, load.problem) == (0, 0, "")
    assert printed.splitlines()[1] == f"argv -W -s 9 -M {asked}"


def test_options_reach_the_program(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = host_memory.load_argv(300, memory_percent=50, threads=96, program=str(machine / "stressapptest"))
    _, printed = run(machine, capfd, *words[2:])
    assert f"argv -W -s 300 -M {200 * 1024 // 2 - 192} -m 96" in printed


@pytest.mark.parametrize("why", ["", "Operation not permitted"])
def test_memory_of_nodes_without_processors_is_left_alone(
    machine: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """As on GB200, where the memory of each GPU is a NUMA node, and there are empty ones."""
    for number, gib in ((2, 186), (3, 0)):
        figures = NODE.format(number=number, total=gib * GIB, free=gib * GIB)
        folder = f"/sys/devices/system/node/node{number}"
        write_files(machine, {f"{folder}/cpulist": "\n", f"{folder}/meminfo": figures})
    write_files(machine, {"/proc/meminfo": MEMINFO.format(total=442 * GIB, free=206 * GIB, available=386 * GIB)})
    bound: list[Any] = []

    def bind(nodes: list[int], *, interleaved: bool) -> str:
        bound.append((nodes, interleaved))
        return why

    monkeypatch.setattr(script, "bind_memory", bind)
    status, printed = run(machine, capfd)
    assert bound == [([0, 1], False)]
    load = host_memory.read_load(printed)
    if why:
        assert (status, why in load.problem, "argv" in printed) == (host_memory.NOT_STARTED, True, False)
    else:
        assert (status, load.node_mib, load.free_mib) == (0, 256 * 1024, 200 * 1024)


def test_too_little_is_free(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(machine, {"/proc/meminfo": MEMINFO.format(total=256 * GIB, free=0, available=250 * 1024)})
    status, printed = run(machine, capfd)
    assert (status, host_memory.read_load(printed).problem) == (host_memory.NO_ROOM, "250 of 262144 MiB are free")


@pytest.mark.parametrize("meminfo", [None, "", "MemTotal: 1 kB\n", "MemTotal: x kB\nMemAvailable: y kB\n"])
def test_a_kernel_that_does_not_show_it(machine: Path, capfd: pytest.CaptureFixture[str], meminfo: str | None) -> None:
    (machine / "proc/meminfo").unlink()
    if meminfo is not None:
        write_files(machine, {"/proc/meminfo": meminfo})
    status, printed = run(machine, capfd)
    assert (status, "argv" in printed) == (host_memory.NOT_STARTED, False)
    assert host_memory.read_load(printed).problem.startswith("the kernel does not show the free memory")


def test_without_stressapptest(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, printed = run(machine, capfd, "--program", "/nowhere/stressapptest")
    assert (status, host_memory.read_load(printed).problem) == (
        host_memory.NO_STRESSAPPTEST,
        "/nowhere/stressapptest: No such file or directory",
    )
    assert run(machine, capfd, "--version", "--program", "/nowhere/stressapptest") == (host_memory.NO_STRESSAPPTEST, "")


@pytest.mark.parametrize(("then", "expected"), [("sys.exit(1)", 1), ("os.kill(os.getpid(), signal.SIGKILL)", -9)])
def test_how_it_ended(machine: Path, capfd: pytest.CaptureFixture[str], then: str, expected: int) -> None:
    kills = f"pathlib.Path({str(machine / 'proc/vmstat')!r}).write_text('oom_kill 4')\n"
    status, printed = run(machine, capfd, then=kills + then)
    load = host_memory.read_load(printed)
    assert (status, load.exit_status, load.oom_kills) == (host_memory.ENDED_BADLY, expected, 1)


def test_it_is_what_the_kernel_ends_if_memory_runs_out(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    own = "pathlib.Path('/proc/self/oom_score_adj').read_text().strip()"
    _, printed = run(
        machine,
        capfd,
        then=f"until = time.monotonic() + 10\nwhile {own} != '1000' and time.monotonic() < until: time.sleep(0.01)\nprint({own})",
    )
    assert "\n1000\n" in printed


@pytest.mark.parametrize("before", ["", "2026/11/26-22:59:22(UTC) "])
def test_the_version_has_no_time(machine: Path, capfd: pytest.CaptureFixture[str], before: str) -> None:
    fake = str(machine / "stressapptest")
    printed = f"print('{before}Stats: SAT revision 1.0.11_autoconf, 64 bit binary')"
    assert run(machine, capfd, "--version", "--program", fake, then=printed) == (0, "stressapptest 1.0.11_autoconf\n")


def test_this_machine_shows_its_memory(machine: Path) -> None:
    real = script.memory_of(script.Path("/"))
    assert 0 < real.free_mib < real.node_mib
    assert script.oom_kills(script.Path("/")) >= 0


def test_the_agent_ends_it_with_what_it_started(tmp_path: Path) -> None:
    fake = tmp_path / "stressapptest"
    fake.write_text(STRESSAPPTEST.format(python=sys.executable, then="time.sleep(600)"))
    fake.chmod(0o755)
    argv = [str(w) for w in host_memory.load_argv(300, program=str(fake))]
    found = AgentNode(tmp_path, "n1", free_port(), [step("solo", argv, timeout_s=3)]).start().end()
    assert (found["solo"].error_code, found["solo"].exit_status) == ("timed_out", None)
    assert "argv -W -s 300" in found["solo"].stdout
    assert not [p for p in script.Path("/proc").glob("[0-9]*/cmdline") if str(fake) in p.read_text(errors="replace")]


def test_the_real_program(machine: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    real = which("stressapptest")
    if real is None:
        pytest.skip("stressapptest is not installed, nor in build/tools (scripts/test_tools.sh)")
    monkeypatch.setenv("LD_LIBRARY_PATH", environment().get("LD_LIBRARY_PATH", ""))
    write_files(machine, {"/proc/meminfo": MEMINFO.format(total=300 * 1024, free=0, available=280 * 1024)})
    status, printed = run(machine, capfd, "--seconds", "5", "--program", real)
    stress = read_stress(printed)
    assert (status, stress.tested_mib, stress.requested_s, stress.incidents, stress.passed) == (0, 74, 5, 0, True)
    assert {s.metric: s.value for s in parse_output("stressapptest", printed)}["memory_copied"] > 74
    settings = {"host_memory": {"least_percent": 20}}
    declared = gates(gates_levels={level: ["host_memory"] for level in LEVELS}, gates_baselines=[], gates_settings=settings)
    (result,) = judge(
        [subject_of(node("n1", declared=declared), TODAY)], [memory_record("n1", printed)], level="standard", gates=["host_memory"]
    )
    assert result.outcome is Outcome.PASS, result


def test_script_and_tool_agree() -> None:
    names = ("NO_STRESSAPPTEST", "NO_ROOM", "NOT_STARTED", "ENDED_BADLY")
    assert [getattr(script, n) for n in names] == [getattr(host_memory, n) for n in names]


def test_it_runs_with_python_3_8() -> None:
    ast.parse((FILES / host_memory.PROGRAM).read_text(encoding="utf-8"), feature_version=(3, 8))
