"""Burn-in agents as they run on nodes: real processes, each on a loopback address of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.raw_records import read_records
from support.ports import free_port
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from clusterctl.model.gate_result import RawRecord

FILES = ROOT / "roles" / "burnin" / "files"
AGENT = FILES / "burnin_agent.py"
TOKEN = "5e" * 32


def program(name: str) -> ModuleType:
    """A program of the agent, loaded as a module; it finds the others beside it."""
    found = importlib.util.spec_from_file_location(f"burnin_{name}", FILES / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.path.insert(0, str(FILES))
    try:
        found.loader.exec_module(module)
    finally:
        sys.path.remove(str(FILES))
    return module


@cache
def compiled_programs() -> dict[str, bytes]:
    """Name in `__pycache__` -> bytecode, which Python compares with the source: hundreds of agents would each compile the same files."""
    with TemporaryDirectory(prefix="clusterctl-agents-") as folder:
        made = {}
        for file in FILES.glob("*.py"):
            name = f"{file.stem}.{sys.implementation.cache_tag}.pyc"
            py_compile.compile(str(file), f"{folder}/{name}", file.name, doraise=True, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
            made[name] = Path(folder, name).read_bytes()
        return made


def address_of(name: str) -> str:
    """`n2` has 127.0.0.2."""
    return f"127.0.0.{name[1:]}"


def step(name: str, argv: list[str], **more: Any) -> dict[str, Any]:
    """A step of an agent's plan."""
    base = {"gate": "g", "name": name, "tool": "t", "side": "solo", "argv": argv, "timeout_s": 10, "batch": 0, "device": ""}
    return {**base, "peer": "", "peer_device": "", "peer_address": "", "peers": [], "version_argv": [], "members": [], **more}


class AgentNode:
    """A folder in which an agent runs as if on a node of its own; `within`: the words before its command."""

    def __init__(
        self, folder: Path, name: str, port: int, steps: list[dict[str, Any]], environment: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.environment = environment
        for program in FILES.glob("*.py"):
            shutil.copy(program, self.folder)
        (self.folder / "__pycache__").mkdir()
        for file, compiled in compiled_programs().items():
            (self.folder / "__pycache__" / file).write_bytes(compiled)
        plan = {
            "run": "r1",
            "node": name,
            "listen": address_of(name),
            "control_port": port,
            "peer_wait_s": 10,
            "limit_s": 30,
            "owner": "o1",
        }
        lock = str(folder / f"{name}.lock")
        (self.folder / "plan.json").write_text(json.dumps({**plan, "token": TOKEN, "lock": lock, "steps": steps, **more}))
        self.process: subprocess.Popen[bytes] | None = None
        self.within: tuple[str, ...] = ()

    @property
    def plan(self) -> dict[str, Any]:
        """What the agent reads."""
        read: dict[str, Any] = json.loads((self.folder / "plan.json").read_text())
        return read

    def change(self, **fields: Any) -> None:
        """Replace parts of the plan, before the agent starts."""
        (self.folder / "plan.json").write_text(json.dumps({**self.plan, **fields}))

    def start(self) -> AgentNode:
        """Start the agent."""
        argv = [*self.within, sys.executable, "burnin_agent.py", "run", "."]
        # Nodes share no /tmp: Open MPI's daemons fail if another one makes their folder at the same moment.
        environment = {**(os.environ if self.environment is None else self.environment), "TMPDIR": str(self.folder)}
        self.process = subprocess.Popen(argv, cwd=self.folder, env=environment)
        return self

    def end(self, seconds: float = 60) -> dict[str, RawRecord]:
        """Step -> record, once the agent has ended."""
        assert self.process is not None
        assert self.process.wait(seconds) == 0
        return self.records

    @property
    def records(self) -> dict[str, RawRecord]:
        """Step -> record, as far as written."""
        file = self.folder / "records.jsonl"
        return {r.step: r for r in read_records(file.read_text() if file.exists() else "")}

    def kill(self) -> None:
        """End the agent, if it still runs, without a chance to end what it started."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def group_of(
    folder: Path, count: int, launcher: list[str], environment: Mapping[str, str], daemon: str = "orted", **more: Any
) -> list[AgentNode]:
    """`n1` launches a command for a group, `n2` ... are its members."""
    names = [f"n{i}" for i in range(1, count + 1)]
    others = [[name, address_of(name)] for name in names[1:]]
    port = free_port()
    lead = step("group", launcher, peers=names, members=others, timeout_s=20)
    later = step("later", ["sleep", "2"], batch=1)  # a launcher that ends at once is waited for longer
    made = [AgentNode(folder, "n1", port, [lead, later], environment, **more)]
    member = step("member", [daemon], side="member", peer="n1", peer_address=address_of("n1"), timeout_s=25)
    return [*made, *(AgentNode(folder, name, port, [member], environment, **more) for name in names[1:])]


def launcher(command: str, addresses: tuple[str, ...] = ("127.0.0.2",)) -> list[str]:
    """Starts a command on nodes as mpirun does, and waits for all."""
    starts = [f"{sys.executable} rank_starter.py {a} {shlex.quote(command)} & p{i}=$!" for i, a in enumerate(addresses)]
    waits = [f"wait $p{i} || code=$?" for i in range(len(addresses))]
    return ["sh", "-c", "\n".join(["code=0", *starts, *waits, "exit $code"])]


def until(condition: Callable[[], bool]) -> None:
    """Wait, at most twenty seconds."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def sleepers(word: str) -> list[int]:
    """The running processes that `sleeper(word)` starts."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = file.read_text(errors="replace").split("\0")
            if words[:1] == [sys.executable] and word in words:
                found.append(int(file.parent.name))
    return found


def sleeper(word: str) -> list[str]:
    """A command that does nothing for a minute."""
    return [sys.executable, "-c", "import time; time.sleep(60)", word]
