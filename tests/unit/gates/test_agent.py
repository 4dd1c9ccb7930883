"""The burn-in agent as it runs on nodes: real processes, two agents on two loopback addresses."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.raw_records import read_records
from clusterctl.model.gate_reason import GateReason
from support.agents import program
from support.ports import free_port
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterctl.model.gate_result import RawRecord

AGENT = ROOT / "roles" / "burnin" / "files" / "burnin_agent.py"
ADDRESSES = {"n1": "127.0.0.1", "n2": "127.0.0.2"}


def step(name: str, argv: list[str], **more: Any) -> dict[str, Any]:
    base = {"gate": "g", "name": name, "tool": "t", "side": "solo", "argv": argv, "timeout_s": 10, "batch": 0, "device": ""}
    return {**base, "peer": "", "peer_device": "", "peer_address": "", "peers": [], "version_argv": [], **more}


class Node:
    """A folder in which an agent runs as if on a node of its own."""

    def __init__(self, folder: Path, name: str, port: int, steps: list[dict[str, Any]], **more: Any) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        plan = {"run": "r1", "node": name, "listen": ADDRESSES[name], "control_port": port, "peer_wait_s": 10, "limit_s": 30, "owner": "o1"}
        plan["token"] = "5e" * 32
        (self.folder / "plan.json").write_text(json.dumps({**plan, "lock": str(folder / f"{name}.lock"), "steps": steps, **more}))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Node:
        self.process = subprocess.Popen([sys.executable, str(AGENT), "run", str(self.folder)])
        return self

    def end(self) -> dict[str, RawRecord]:
        assert self.process is not None
        assert self.process.wait(40) == 0
        return self.records

    @property
    def records(self) -> dict[str, RawRecord]:
        file = self.folder / "records.jsonl"
        return {r.step: r for r in read_records(file.read_text() if file.exists() else "")}

    def alone(self) -> dict[str, RawRecord]:
        return self.start().end()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    made: list[Node] = []
    port = free_port()

    def build(name: str, steps: list[dict[str, Any]], **more: Any) -> Node:
        folder = tmp_path / str(len(made)) if any(n.folder.name == name for n in made) else tmp_path
        folder.mkdir(exist_ok=True)
        made.append(Node(folder, name, port, steps, **more))
        return made[-1]

    yield build
    for one in made:
        if one.process is not None and one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_step_is_recorded_as_it_ran(make: Callable[..., Node]) -> None:
    argv = ["env", "A=b", "sh", "-c", "echo out $A; echo err >&2; exit 3"]
    found = make("n1", [step("s", argv, device="gpu0", peers=["n1", "n2"])]).alone()["s"]
    assert (found.exit_status, found.stdout, found.stderr, found.error, found.error_code) == (3, "out b\n", "err\n", "", None)
    assert found.argv == tuple(argv)
    assert (found.node, found.device, found.peers, found.attempts, found.simulated) == ("n1", "gpu0", ("n1", "n2"), 1, False)


def test_a_missing_tool_is_recorded_never_skipped(make: Callable[..., Node]) -> None:
    found = make("n1", [step("s", ["env", "X=1", "no-such-tool", "-x"]), step("t", ["true"], batch=1)]).alone()
    assert (found["s"].error, found["s"].exit_status) == ("no-such-tool: not installed", None)
    assert found["s"].error_code is GateReason.NOT_INSTALLED
    assert found["t"].exit_status == 0


def test_a_tool_that_hangs_is_ended_with_all_its_children(make: Callable[..., Node], tmp_path: Path) -> None:
    script = f"sh -c 'echo $$ > {tmp_path}/child; exec sleep 60' & wait"
    found = make("n1", [step("s", ["sh", "-c", script], timeout_s=1)]).alone()["s"]
    assert (found.error, found.error_code, found.exit_status) == ("timed out after 1 s", GateReason.TIMED_OUT, None)
    child = int((tmp_path / "child").read_text())
    until(lambda: not _alive(child))


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_output_is_bounded_and_its_ends_are_kept(make: Callable[..., Node]) -> None:
    script = "import sys; sys.stdout.write('first\\n' + 'x' * 3000000 + '\\nlast\\n')"
    found = make("n1", [step("s", [sys.executable, "-c", script])]).alone()["s"]
    assert found.stdout.startswith("first")
    assert found.stdout.endswith("last\n")
    assert "bytes left out" in found.stdout
    assert len(found.stdout) < 600_000


def test_bytes_that_are_no_text_do_no_harm(make: Callable[..., Node]) -> None:
    found = make("n1", [step("s", ["printf", r"\377\000ok"])]).alone()["s"]
    assert found.stdout == "\ufffd\ufffdok"


def test_batches_run_in_order_and_steps_of_one_together(make: Callable[..., Node]) -> None:
    meet = "import socket,sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"
    serve = "import socket,sys; s=socket.create_server(('127.0.0.1', int(sys.argv[1]))); s.settimeout(8); s.accept()"
    port = str(free_port())
    steps = [step("serve", [sys.executable, "-c", serve, port]), step("late", ["true"], batch=1)]
    found = make("n1", [*steps, step("meet", ["sh", "-c", f'sleep 0.5; {sys.executable} -c "{meet}" {port}'])]).alone()
    assert [found[s].exit_status for s in ("serve", "meet", "late")] == [0, 0, 0]
    assert found["late"].started_at > found["meet"].started_at


@pytest.mark.parametrize(("says", "simulated"), [("tool 1.2 (simulated)", True), ("tool 1.2", False)])
def test_the_tools_version_tells_whether_it_is_simulated(make: Callable[..., Node], says: str, simulated: bool) -> None:
    found = make("n1", [step("s", ["true"], version_argv=["echo", says])]).alone()["s"]
    assert (found.tool_version, found.simulated) == (says, simulated)


def test_two_agents_meet_and_the_client_waits_for_its_server(make: Callable[..., Node]) -> None:
    port = free_port()
    serve = f"import socket,time; time.sleep(1); s=socket.create_server(('127.0.0.1', {port})); s.settimeout(8); s.accept()"
    connect = f"""import socket,sys
try: socket.create_connection(('127.0.0.1', {port}), 3)
except OSError: sys.exit("Couldn't connect to 127.0.0.1")"""
    one = make("n1", [step("server", [sys.executable, "-c", serve], side="server", peer="n2", peer_address=ADDRESSES["n2"])])
    two = make("n2", [step("client", [sys.executable, "-c", connect], side="client", peer="n1", peer_address=ADDRESSES["n1"])])
    two.start()
    until((two.folder / "pid").is_symlink)
    one.start()
    assert one.end()["server"].exit_status == 0
    client = two.end()["client"]
    assert client.exit_status == 0
    assert client.attempts > 1


def test_a_slow_node_is_waited_for_and_rounds_stay_in_step(make: Callable[..., Node]) -> None:
    def steps(peer: str, first: list[str]) -> list[dict[str, Any]]:
        return [step("first", first), step("round", ["true"], batch=1, side="server", peer=peer, peer_address=ADDRESSES[peer])]

    one, two = make("n1", steps("n2", ["sleep", "2"])), make("n2", steps("n1", ["true"]))
    one.start()
    two.start()
    first, second = one.end(), two.end()
    assert (first["round"].error, second["round"].error) == ("", "")
    began = datetime.fromisoformat(first["first"].started_at)
    assert (datetime.fromisoformat(second["round"].started_at) - began).total_seconds() >= 2


def test_a_peer_that_never_answers_is_told_and_the_rest_goes_on(make: Callable[..., Node]) -> None:
    pair = step("round", ["true"], side="client", peer="n2", peer_address=ADDRESSES["n2"])
    found = make("n1", [pair, step("after", ["true"], batch=1)], peer_wait_s=1).alone()
    assert "n2 never answered at 127.0.0.2 port" in found["round"].error
    assert found["round"].error_code is GateReason.PEER_SILENT
    assert found["round"].exit_status is None
    assert found["after"].exit_status == 0


def test_agents_of_different_runs_do_not_meet(make: Callable[..., Node]) -> None:
    one = make("n1", [step("r", ["true"], side="server", peer="n2", peer_address=ADDRESSES["n2"])], peer_wait_s=1, run="old")
    two = make("n2", [step("r", ["true"], side="client", peer="n1", peer_address=ADDRESSES["n1"])], peer_wait_s=1, run="new")
    one.start()
    two.start()
    assert "never answered" in one.end()["r"].error
    assert "never answered" in two.end()["r"].error


def test_the_agent_of_another_owner_is_left_alone(make: Callable[..., Node], tmp_path: Path) -> None:
    lock = str(tmp_path / "one.lock")
    one = make("n1", [step("s", ["sleep", "30"])], lock=lock).start()
    until(lambda: (tmp_path / "one.lock").exists() and "pid" in (tmp_path / "one.lock").read_text())
    second = make("n1", [step("s", ["true"])], lock=lock, owner="o2").alone()["s"]
    assert "another burn-in runs on this node (run r1, pid" in second.error
    assert second.error_code is GateReason.NODE_BUSY
    assert second.exit_status is None
    assert one.process is not None
    one.process.terminate()
    assert one.end()["s"].error == "interrupted"


def test_an_owners_next_run_ends_the_one_before(make: Callable[..., Node], tmp_path: Path) -> None:
    lock = str(tmp_path / "one.lock")
    one = make("n1", [step("s", ["sleep", "30"])], lock=lock).start()
    until(lambda: (tmp_path / "one.lock").exists() and "pid" in (tmp_path / "one.lock").read_text())
    assert make("n1", [step("s", ["true"])], lock=lock).alone()["s"].exit_status == 0
    assert one.end()["s"].error == "interrupted"


@pytest.mark.parametrize(("owner", "runs"), [("o2", False), ("o1", True)])
def test_a_killed_agents_leftovers_keep_the_node_locked(make: Callable[..., Node], tmp_path: Path, owner: str, runs: bool) -> None:
    lock = str(tmp_path / "one.lock")
    argv = ["sh", "-c", f"echo $$ > {tmp_path}/left; trap '' TERM; while :; do sleep 1; done"]
    one = make("n1", [step("s", argv)], lock=lock).start()
    until(lambda: (tmp_path / "left").exists() and (tmp_path / "left").read_text().strip() != "")
    assert one.process is not None
    one.process.kill()
    one.process.wait()
    left = int((tmp_path / "left").read_text())
    found = make("n1", [step("s", ["true"])], lock=lock, owner=owner).alone()["s"]
    assert (found.exit_status == 0) == runs
    assert ("another burn-in" in found.error) != runs
    assert _alive(left) != runs
    if not runs:
        os.kill(left, signal.SIGKILL)


def test_a_second_start_of_the_same_plan_does_nothing(make: Callable[..., Node]) -> None:
    one = make("n1", [step("s", ["sleep", "1"])]).start()
    until((one.folder / "pid").is_symlink)
    assert subprocess.run([sys.executable, str(AGENT), "run", str(one.folder)], check=False, timeout=20).returncode == 0
    assert one.end()["s"].exit_status == 0
    assert len((one.folder / "records.jsonl").read_text().splitlines()) == 1


def test_sigterm_ends_the_tools_and_records_what_did_not_run(make: Callable[..., Node], tmp_path: Path) -> None:
    argv = ["sh", "-c", f"touch {tmp_path}/runs; sleep 30"]
    one = make("n1", [step("first", argv), step("second", ["true"], batch=1)]).start()
    until((tmp_path / "runs").exists)
    assert one.process is not None
    one.process.terminate()
    found = one.end()
    interrupted = ("interrupted", GateReason.INTERRUPTED, None)
    assert {s: (r.error, r.error_code, r.exit_status) for s, r in found.items()} == {"first": interrupted, "second": interrupted}


def test_the_plans_own_limit_ends_it(make: Callable[..., Node]) -> None:
    found = make("n1", [step("s", ["sleep", "30"], timeout_s=30)], limit_s=3).alone()["s"]
    assert found.exit_status is None
    assert found.error == "time limit of the node's plan reached"
    assert found.error_code is GateReason.TIMED_OUT


# Stands for a process in D state: signals of the agent have no effect.
SIGNALS_HAVE_NO_EFFECT = (
    "import os, runpy, sys; os.kill = os.killpg = lambda *_: None; sys.argv = sys.argv[1:]; "
    "sys.path.insert(0, os.path.dirname(sys.argv[0])); runpy.run_path(sys.argv[0], run_name='__main__')"
)


def test_a_command_that_cannot_be_ended_costs_its_own_record_only(make: Callable[..., Node], tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    hanging = step("hangs", ["sh", "-c", f"echo $$ > {pid_file}; exec sleep 60"], timeout_s=1)
    node = make("n1", [hanging, step("later", ["true"], batch=1)])
    node.process = subprocess.Popen([sys.executable, "-c", SIGNALS_HAVE_NO_EFFECT, str(AGENT), "run", str(node.folder)])
    try:
        found = node.end()
    finally:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    assert (found["hangs"].error_code, found["hangs"].exit_status) == (GateReason.TIMED_OUT, None)
    assert found["hangs"].error == "timed out after 1 s; it cannot be ended: it hangs in the kernel"
    assert found["later"].exit_status == 0


def test_a_command_that_a_signal_ends_has_no_exit_status(make: Callable[..., Node]) -> None:
    found = make("n1", [step("s", ["sh", "-c", "kill -9 $$"])]).alone()["s"]
    assert (found.error, found.error_code, found.exit_status) == ("ended by signal 9", GateReason.KILLED, None)


def test_a_command_whose_agent_is_signalled_a_moment_later_was_interrupted(make: Callable[..., Node]) -> None:
    both = "setsid sh -c 'sleep 0.3; kill -TERM $0' $PPID > /dev/null 2>&1 & sleep 0.1; kill -TERM $$"
    found = make("n1", [step("s", ["sh", "-c", both])]).alone()["s"]
    assert (found.error, found.error_code, found.exit_status) == ("interrupted", GateReason.INTERRUPTED, None)


def pair(port: int, **more: Any) -> dict[str, list[dict[str, Any]]]:
    return {
        "n1": [step("r", ["true"], side="server", peer="n2", peer_address=ADDRESSES["n2"], port=port, **more)],
        "n2": [step("r", ["true"], side="client", peer="n1", peer_address=ADDRESSES["n1"], port=port, **more)],
    }


SQUATTERS = {
    "says nothing": "time.sleep(60)",
    "hangs up": "[s.accept()[0].close() for _ in range(99)]",
    "repeats what it hears": "[(c := s.accept()[0]).sendall(c.recv(999)) for _ in range(99)]",
    "claims to be there": "[s.accept()[0].sendall(b'0\\n') for _ in range(99)]",
}


@pytest.mark.parametrize("does", SQUATTERS.values(), ids=SQUATTERS)
def test_a_foreign_program_on_the_port_of_one_node_disturbs_neither(make: Callable[..., Node], does: str) -> None:
    port = free_port()
    script = f"import socket, time; s = socket.create_server(('{ADDRESSES['n1']}', {port})); print(flush=True); {does}"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout is not None
        squatter.stdout.readline()
        ports = {"control_port": port, "spare_ports": [free_port()]}
        one, two = (make(name, steps, **ports).start() for name, steps in pair(0).items())
        assert [found.error for node in (one, two) for found in node.end().values()] == ["", ""]
        squatter.kill()


def test_where_every_port_is_taken_the_holder_is_named(make: Callable[..., Node]) -> None:
    with socket.create_server((ADDRESSES["n1"], 0)) as taken:
        port = taken.getsockname()[1]
        found = make("n1", pair(0)["n1"], control_port=port).alone()["r"]
    assert found.error_code is GateReason.PORT_TAKEN
    assert f"cannot listen on port {port} ({Path('/proc/self/exe').readlink()}, pid {os.getpid()}, user " in found.error


def test_the_holder_of_a_servers_port_is_named_and_nothing_is_started(make: Callable[..., Node]) -> None:
    with socket.create_server((ADDRESSES["n1"], 0)) as taken:
        port = taken.getsockname()[1]
        one, two = (make(name, steps).start() for name, steps in pair(port).items())
        found = one.end()["r"]
        two.end()
    assert (found.error_code, found.exit_status, found.attempts) == (GateReason.PORT_TAKEN, None, 0)
    assert f"port {port} is taken by " in found.error
    assert f"pid {os.getpid()}" in found.error


def test_a_command_that_cannot_be_started_is_a_failure_of_the_agent(make: Callable[..., Node], tmp_path: Path) -> None:
    script = tmp_path / "broken"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    found = make("n1", [step("s", [str(script)])]).alone()["s"]
    assert (found.error_code, found.exit_status) == (GateReason.AGENT_FAILED, None)


def test_waiting_ends_with_the_agent(make: Callable[..., Node]) -> None:
    one = make("n1", [step("s", ["sleep", "1"])]).start()
    assert subprocess.run([sys.executable, str(AGENT), "wait", str(one.folder), "20"], check=False).returncode == 0
    assert one.end()["s"].exit_status == 0


def test_waiting_for_an_agent_that_died_says_so(make: Callable[..., Node]) -> None:
    one = make("n1", [step("s", ["sleep", "30"])]).start()
    until((one.folder / "pid").is_symlink)
    assert one.process is not None
    one.process.kill()
    one.process.wait()
    done = subprocess.run([sys.executable, str(AGENT), "wait", str(one.folder), "20"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "the burn-in agent died" in done.stderr


def test_the_agent_is_python_3_8() -> None:
    ast.parse(AGENT.read_text(), feature_version=(3, 8))
    later = ("removeprefix", "removesuffix", "link.readlink(", "math.lcm", "zoneinfo")
    assert [word for word in later if word in AGENT.read_text()] == []


def test_a_port_of_another_address_is_free() -> None:
    holder_of = program("port_holder").holder_of
    with socket.create_server(("127.0.0.7", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"pid {os.getpid()}" in holder_of(port)
        assert f"pid {os.getpid()}" in holder_of(port, "127.0.0.7")
        assert holder_of(port, "127.0.0.8") == ""
    with socket.create_server(("0.0.0.0", 0)) as everywhere:
        assert f"pid {os.getpid()}" in holder_of(everywhere.getsockname()[1], "127.0.0.8")
