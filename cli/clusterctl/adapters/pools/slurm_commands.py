"""Runs scontrol and squeue."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from clusterctl.adapters import clock
from clusterctl.adapters.pools.slurm_nodes import parse_nodes
from clusterctl.core import timestamps
from clusterctl.model.errors import PoolError, PoolUnreachableError
from clusterctl.model.program import Program

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from clusterctl.adapters.pools.slurm_nodes import SlurmNode

# slurm_errno.c: nothing was decided, or the answer was lost; a controller may just take over from another, or limit the rate of requests
_UNREACHABLE = (
    "Unable to contact slurm controller",
    "Zero Bytes were transmitted",
    "Socket timed out",
    "slurmctld is not",
    "Connection refused",
    "Connection timed out",
    "Communication connection failure",
    "Message send failure",
    "Message receive failure",
    "in standby mode",
    "Rate limit exceeded",
)
# filters, formats and other clusters of whoever runs clusterctl: with SQUEUE_USERS, squeue leaves out the jobs of all others
_OF_OPERATOR = ("SQUEUE_", "SCONTROL_", "SLURM_CLUSTERS")
# Linux starts no program with a longer word: 128 KiB (MAX_ARG_STRLEN)
_LONGEST_WORD = 100_000
# every state of a job that holds its nodes
_HOLDING = "RUNNING,COMPLETING,CONFIGURING,SUSPENDED,STOPPED,SIGNALING,STAGE_OUT,RESIZING,REQUEUE_HOLD"
LONGEST_REASON = 400
# the first line of `scontrol show config`: slurmctld writes its own time there when it answers (_fill_ctld_conf, proc_req.c)
_CLOCK = re.compile(r"Configuration data as of (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s")
PROGRAMS = (Program.SCONTROL, Program.SQUEUE)


def kept_value(text: str) -> str:
    """A value as Slurm keeps it: control characters are spaces, and double quotes, of which scontrol takes one from each end, are single ones."""
    return "".join(c if c.isprintable() else " " for c in text).replace('"', "'")


class SlurmCommands:
    """The commands of Slurm, with the configuration file of the site (empty: the one that Slurm finds itself)."""

    def __init__(self, conf: str, timeout_s: float) -> None:
        own = {"SLURM_CONF": conf} if conf else {}
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(_OF_OPERATOR)}
        self._environment = {**inherited, "TZ": "UTC", "SLURM_TIME_FORMAT": "standard", "LC_ALL": "C", **own}
        self._timeout_s = timeout_s

    def nodes(self) -> tuple[SlurmNode, ...]:
        """All nodes."""
        return _parsed(self._run(Program.SCONTROL, "--oneliner", "--all", "show", "node"))

    def node(self, name: str) -> SlurmNode | None:
        """One node; None if Slurm does not list it."""
        try:
            found = _parsed(self._run(Program.SCONTROL, "--oneliner", "--all", "show", "node", name))
        except PoolUnreachableError:
            raise
        except PoolError as e:
            # nothing but this: what else is "not found", a plug-in for instance, does not concern the node
            if f"Node {name} not found" in str(e) or "Invalid node name" in str(e):
                return None
            raise
        return next((n for n in found if n.name == name), None)

    def clock_ahead_s(self) -> float:
        """How many seconds the clock of slurmctld is ahead of the one here; negative: behind. Exact to a second or two.

        Raises:
            PoolError: slurmctld does not answer, or not with its time.
        """
        found = _CLOCK.match(self._run(Program.SCONTROL, "show", "config"))
        if found is None:
            raise PoolError(
                detail="`scontrol show config` does not begin with the time of slurmctld", hint="report this with the release of Slurm"
            )
        return timestamps.seconds_between(clock.now(), f"{found[1]}.000000Z")

    def update(self, name: str, changes: Mapping[str, str]) -> None:
        """`scontrol update`, with values as `kept_value` has them."""
        words = [f"{key}={kept_value(value)[:LONGEST_REASON]}" for key, value in changes.items()]
        self._run(Program.SCONTROL, "update", f"NodeName={name}", *words)

    def jobs(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Node -> the jobs that hold it, `ID of USER`."""
        nodelist = ",".join(names)
        # --local: a federation may show the jobs of all its clusters, whose nodes may have the same names
        words = ["--noheader", "--all", "--local", f"--states={_HOLDING}", "--format=%i|%u|%N"]
        if len(nodelist) < _LONGEST_WORD:
            words.append(f"--nodelist={nodelist}")
        found: dict[str, list[str]] = {n: [] for n in names}
        for line in self._run(Program.SQUEUE, *words).splitlines():
            job, user, nodes = [*line.strip().split("|", 2), "", ""][:3]
            for node in self._hosts(nodes):
                if node in found:
                    found[node].append(f"{job} of {user}")
        return {n: tuple(jobs) for n, jobs in found.items() if jobs}

    def _hosts(self, expression: str) -> list[str]:
        return self._run(Program.SCONTROL, "show", "hostnames", expression).split() if "[" in expression else expression.split(",")

    def _run(self, program: Program, *words: str) -> str:
        try:
            done = subprocess.run(
                [program, *words],
                env=self._environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self._timeout_s,
                check=False,
            )
        except FileNotFoundError as e:
            raise PoolError(detail=f"{program} is not installed here", hint="install Slurm's client commands on this machine") from e
        except OSError as e:
            raise PoolError(detail=f"{program} cannot be started: {e}", hint="install Slurm's client commands on this machine") from e
        except subprocess.TimeoutExpired as e:
            raise PoolUnreachableError(
                detail=f"Slurm: {program} gave no answer within {self._timeout_s:.0f} s",
                hint="`scontrol ping` shows whether slurmctld runs",
            ) from e
        if done.returncode == 0:
            return done.stdout
        answer = " ".join((done.stderr.strip() or done.stdout.strip()).split()) or f"exit status {done.returncode}"
        if any(text in answer for text in _UNREACHABLE):
            raise PoolUnreachableError(
                detail=f"slurmctld does not answer: {answer}",
                hint="`scontrol ping` shows whether it runs; no node entered the pool, run the same command again then",
            )
        raise PoolError(
            detail=f"Slurm refused `{' '.join([program, *words[:2]])}`: {answer}",
            hint="the user needs the right to change nodes: operator, root or SlurmUser",
        )


def _parsed(text: str) -> tuple[SlurmNode, ...]:
    try:
        return parse_nodes(text)
    except ValueError as e:
        raise PoolError(detail=f"the answer of scontrol cannot be read: {e}", hint="report this with the release of Slurm") from e
