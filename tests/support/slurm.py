"""A real Slurm on loopback: munged, slurmctld, and a slurmd for some of its nodes. Nothing of it outlives its context."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
import subprocess
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.daemons import Daemons
from support.ports import free_ports
from support.unpacked_tools import environment as tool_environment
from support.unpacked_tools import which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES = ("r12-n01", "r12-n02", "r12-n03", "r12-n04")
# known to slurmctld, without a slurmd
ABSENT = "r12-n09"
DYNAMIC = "r12-d01"
_TOOLS = ("munged", "scontrol", "squeue", "sbatch", "scancel")
_LIMIT_S = 120.0
_CONF = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPort={port}
SlurmdPort={dynamic_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
{plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=1
SlurmdTimeout={down_s}
MessageTimeout=3
MaxNodeCount=16
{nodes}
NodeName={absent} NodeHostname={host} NodeAddr=127.0.0.1 Port={dynamic_port} CPUs=2 RealMemory=100 State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=small Nodes={first} MaxTime=INFINITE State=UP
"""


def missing_slurm() -> list[str]:
    """The missing programs of the Debian packages slurmctld, slurmd, slurm-client and munge."""
    return [t for t in _TOOLS if which(t) is None] + [d for d in ("slurmctld", "slurmd", "slurmstepd") if _daemon(d) is None]


def slurm_environment() -> dict[str, str]:
    """The environment in which the commands of Slurm are found, with their own library."""
    own = tool_environment()
    private = _private_libraries()
    return own | {"LD_LIBRARY_PATH": os.pathsep.join(p for p in (own.get("LD_LIBRARY_PATH", ""), str(private)) if p)} if private else own


@contextmanager
def running_slurm() -> Iterator[Slurm]:
    """A Slurm of a test module, whose commands are those that clusterctl finds."""
    with pytest.MonkeyPatch.context() as patch:
        for key in ("PATH", "LD_LIBRARY_PATH"):
            if key in (own := slurm_environment()):
                patch.setenv(key, own[key])
        with Slurm() as slurm:
            yield slurm


class Slurm(Daemons):
    """A running Slurm; a context manager. `r12-n01` has the features h100 and ndr."""

    def __init__(self) -> None:
        super().__init__("clusterctl-slurm-")
        self.conf = self.folder / "slurm.conf"
        self._ports = free_ports(len(NODES) + 2)

    def __exit__(self, *_: object) -> None:
        try:
            if self.is_running("slurmctld"):
                self._end_jobs()
        finally:
            super().__exit__()

    def start(self) -> None:
        """See `Daemons.start`."""
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        self.write_conf()
        files = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munged.pid", "log-file": "munged.log", "seed-file": "seed"}
        self.spawn("munged", [which("munged") or "", "--foreground", "--force", *(f"--{k}={self.folder / v}" for k, v in files.items())])
        self.wait((self.folder / "munge.sock").exists, "munged")
        self.start_controller("-c")
        for name in NODES:
            self.start_node(name)
        for name in NODES:
            self.wait(partial(self.is_idle, name), f"{name} idle")

    def write_conf(self, *, down_s: int = 300) -> None:
        """Write slurm.conf; a node is DOWN after `down_s` without an answer."""
        host, features = socket.gethostname(), {NODES[0]: " Features=h100,ndr"}
        nodes = [
            f"NodeName={n} NodeHostname={host} NodeAddr=127.0.0.1 Port={p} CPUs=2 RealMemory=100{features.get(n, '')} State=UNKNOWN"
            for n, p in zip(NODES, self._ports, strict=False)
        ]
        private = _private_libraries()
        self.conf.write_text(
            _CONF.format(
                host=host,
                user=getpass.getuser(),
                folder=self.folder,
                port=self._ports[-1],
                dynamic_port=self._ports[-2],
                plugins=f"PluginDir={private}" if private else "",
                nodes="\n".join(nodes),
                absent=ABSENT,
                first=NODES[0],
                down_s=down_s,
            )
        )

    def start_controller(self, *words: str) -> None:
        """Start slurmctld; with its saved state, unless `-c` is given."""
        self.spawn("slurmctld", [_daemon("slurmctld") or "", "-D", "-f", str(self.conf), *words])
        self.wait(lambda: "is UP" in self.run("scontrol", "ping", check=False), "slurmctld")

    def start_node(self, name: str, *words: str) -> None:
        """Start the slurmd of a node."""
        argv = [_daemon("slurmd") or "", "-D", "-N", name, "-f", str(self.conf), "-d", _daemon("slurmstepd") or "", *words]
        self.spawn(name, argv)

    def run(self, *argv: str, check: bool = True) -> str:
        """Run a command of Slurm."""
        words = [which(argv[0]) or argv[0], *argv[1:]]
        done = subprocess.run(words, check=False, capture_output=True, text=True, env=self.environment(), timeout=_LIMIT_S)
        if check and done.returncode:
            raise RuntimeError(f"{argv}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def field(self, name: str, field: str) -> str:
        """A field of a node, as scontrol shows it; the reason goes up to who wrote it. Empty = it has none."""
        for line in self.run("scontrol", "show", "node", name, check=False).splitlines():
            _, equals, rest = f" {line.strip()}".partition(f" {field}=")
            if equals:
                return rest.rpartition(" [")[0] if field == "Reason" else rest.split()[0] if rest else ""
        return ""

    def state(self, name: str) -> set[str]:
        """The state of a node with its flags, whether it answers or not."""
        return set(self.field(name, "State").split("+")) - {"NOT_RESPONDING"}

    def resume_all(self) -> None:
        """No node is held, as after a fresh start; those that a test left drained may take ten seconds to answer."""
        for name in NODES:
            if self.state(name) & {"DRAIN", "DOWN", "FAIL"}:
                self.run("scontrol", "update", f"NodeName={name}", "State=RESUME")

    def take_out(self, name: str, reason: str, state: str = "DRAIN") -> None:
        """As a person does it."""
        self.run("scontrol", "update", f"NodeName={name}", f"State={state}", f"Reason={reason}")

    def is_idle(self, name: str) -> bool:
        """Whether a node is in service."""
        return self.state(name) == {"IDLE"} and self.answers(name)

    def answers(self, name: str) -> bool:
        """Whether its slurmd answers; after a resume that takes up to ten seconds."""
        return "NOT_RESPONDING" not in self.field(name, "State")

    def submit(self, *nodes: str, seconds: int = 600) -> str:
        """Start a job on these nodes and wait until it runs; returns its number."""
        words = [f"--nodelist={','.join(nodes)}", f"--nodes={len(nodes)}", "--output=/dev/null", f"--chdir={self.folder}"]
        job = self.run("sbatch", "--parsable", *words, f"--wrap=sleep {seconds}").strip()
        self.wait(lambda: self.job_state(job) == "RUNNING", f"job {job}")
        return job

    def job_state(self, job: str) -> str:
        """RUNNING, PENDING ...; empty when it is gone."""
        return self.run("squeue", "--noheader", "--jobs", job, "--format=%T", check=False).strip()

    def wait(self, done: Callable[[], bool], what: str) -> None:
        """Wait for a condition."""
        end = time.monotonic() + _LIMIT_S
        while not done():
            dead = self.ended()
            if dead or time.monotonic() > end:
                logs = "\n".join(f"{f.name}: {f.read_text(errors='replace')[-1500:]}" for f in sorted(self.folder.glob("*.log")))
                raise RuntimeError(f"{what}: {f'{dead} ended' if dead else 'took too long'}\n{logs}")
            time.sleep(0.2)

    def _end_jobs(self) -> None:
        # a slurmstepd outlives its slurmd on purpose
        self.run("scancel", "--full", f"--user={getpass.getuser()}", check=False)
        self.wait(lambda: not self.run("squeue", "--noheader", check=False).strip(), "the end of all jobs")

    def environment(self) -> dict[str, str]:
        """See `Daemons.environment`."""
        return slurm_environment() | {"SLURM_CONF": str(self.conf)}


def _daemon(name: str) -> str | None:
    """A daemon; Debian's alternatives give it its plain name only where the package is installed."""
    return which(name) or which(f"{name}-wlm")


def _private_libraries() -> Path | None:
    """The folder of Slurm's plug-ins, where they are only unpacked; None = Slurm finds them itself."""
    scontrol = which("scontrol")
    found = sorted(Path(scontrol).parents[1].glob("lib/*/slurm-wlm")) if scontrol else []
    return found[0] if found and scontrol and not scontrol.startswith("/usr/") else None
