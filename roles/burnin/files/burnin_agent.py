#!/usr/bin/env python3
"""Runs one node's steps of a burn-in and records the results. It never judges them.

    burnin_agent.py start DIR     start `run DIR` in the background; harmless where that has been done, as after a broken connection
    burnin_agent.py run DIR       DIR/plan.json -> DIR/records.jsonl, one record per step; DIR/done when all are written
    burnin_agent.py wait DIR S    wait for DIR/done, at most S seconds; starts what no `start` has started, as where its connection broke;
                                  after a reboot, the steps that it cut off get their records

Steps of one batch run in parallel, batches in sequence. Peers in a batch query each other over TCP (plan: control_port). Standard library, Python 3.8+.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from child_process import Output, adopt_orphans, end_orphans, ended_within, kill_group
from command_sampler import tracer_of
from exclusive_use import NO_RULES, Watch
from link_sampler import LinkSampler
from meeting import ALL_DONE, Meeting, PortsTakenError, peers_of
from mpi_network import write_network
from near_device import bind_to_node_of
from node_lock import MARK, lock_node, mark_of
from port_holder import holder_of
from rank_server import Member
from rank_starter import BATCH_VARIABLE
from run_claim import at_work, claim, claimed
from step_records import FILE, new_record, note_boot, rebooted

LOST_AFTER_S = 20.0
CLIENT_DELAY_S = 0.3
# Who ends a run signals its agent and its commands together, in any order.
SIGNALLED_S = 0.5
RETRY_S = 0.5
RUN_WORDS, WAIT_WORDS = 3, 4
LOG = "agent.log"
RUNNING = 3
# For an agent that was started to show itself: far longer than an interpreter takes on a loaded node.
START_S = 120.0
NO_ERROR = ("", "")  # (code of clusterctl's GateReason, text)
PLAN_LIMIT = ("timed_out", "time limit of the node's plan reached")
NOT_LISTENING = re.compile(r"couldn't connect|connection refused|unable to (?:connect|init the socket)|failed to connect", re.IGNORECASE)
SEARCH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
ENVIRONMENT = dict(os.environ, PATH=SEARCH, LC_ALL="C")


class Agent:
    """One run of one plan."""

    def __init__(self, directory: Path, plan: dict[str, Any], lock_fd: int) -> None:
        self.directory = directory
        self.plan = plan
        self.lock_fd = lock_fd
        self.started = time.monotonic()
        self.deadline = self.started + plan["limit_s"]
        self.stop = threading.Event()
        self.why = NO_ERROR
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.stuck: frozenset[int] = frozenset()
        self.writing = threading.Lock()
        self.versions: dict[tuple[str, ...], tuple[str, bool]] = {}
        self.version_lock = threading.Lock()
        mark = mark_of(plan["lock"], plan["owner"])
        self.watch = Watch(plan.get("exclusive_use", NO_RULES), mark)
        self.environment = {**ENVIRONMENT, MARK: mark}
        self.out = (directory / FILE).open("a", encoding="utf-8")
        self.control: Meeting | None = None
        self.control_error = NO_ERROR

    def run(self) -> None:
        """Run all batches; every step gets a record, whatever happens."""
        write_network(self.directory, self.plan["steps"])
        if any(peers_of(step) for step in self.plan["steps"]):
            try:
                self.control = Meeting(self.plan, self.directory)
                self.control.members = {
                    s["batch"]: Member(self.plan, s, self.directory, self.environment, self.lock_fd)
                    for s in self.plan["steps"]
                    if s["side"] == "member"
                }
            except PortsTakenError as e:
                self.control_error = ("port_taken", str(e))
        limit = threading.Timer(max(0.0, self.deadline - time.monotonic()), self.end, [PLAN_LIMIT])
        limit.daemon = True
        limit.start()
        self.watch.start()
        for number in sorted({step["batch"] for step in self.plan["steps"]}):
            if self.control:
                self.control.batch = number
            steps = [step for step in self.plan["steps"] if step["batch"] == number]
            used = [(step, self.in_use(step, time.monotonic())) for step in steps]
            error = self.meet(next((s for s, own in used if own == NO_ERROR and peers_of(s)), None))
            errors = [(s, error if own == NO_ERROR and peers_of(s) else own) for s, own in used]
            threads = [threading.Thread(target=self.guarded, args=pair) for pair in errors]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.stuck = end_orphans(self.stuck)
        limit.cancel()
        self.watch.over.set()
        if self.control:
            self.control.batch = ALL_DONE

    def end(self, why: tuple[str, str]) -> None:
        """Stop running commands; steps that have not started are recorded as not run."""
        self.why = why if self.why == NO_ERROR else self.why
        self.stop.set()
        with self.writing:
            running = list(self.processes)
        for process in running:
            kill_group(process, signal.SIGTERM)

    def meet(self, step: dict[str, Any] | None) -> tuple[str, str]:
        """Wait until all peers of this batch have reached it too; returns the first error if one does not."""
        if step is None or self.control is None:
            return self.control_error
        errors = (self.meet_one(name, address, step["batch"]) for name, address in peers_of(step))
        return next((error for error in errors if error != NO_ERROR), NO_ERROR)

    def meet_one(self, name: str, address: str, batch: int) -> tuple[str, str]:
        """Wait until a peer has reached a batch too."""
        seen = 0.0
        while self.control and not self.stop.is_set() and (name, batch) not in self.control.met:
            theirs = self.control.query(address)
            clock = time.monotonic()
            if theirs == batch:
                break
            if theirs is not None and theirs > batch:
                return "peer_ahead", f"{name} went on without this node"
            if theirs is None and seen and clock - seen > LOST_AFTER_S:
                return "peer_silent", f"{name} stopped answering"
            if theirs is None and not seen and clock - self.started > self.plan["peer_wait_s"]:
                return "peer_silent", f"{name} never answered at {address} port {self.plan['control_port']}"
            seen = clock if theirs is not None else seen
            self.stop.wait(0.2)
        return NO_ERROR

    def guarded(self, step: dict[str, Any], error: tuple[str, str]) -> None:
        """Run a step; an error of this agent is recorded for it, and the other steps continue."""
        record = new_record(self.plan["node"], step, error)
        begun = time.monotonic()
        try:
            if error == NO_ERROR and step["side"] == "server":
                holder = holder_of(step.get("port", 0), self.plan["listen"])
                error = ("port_taken", f"port {step['port']} is taken by {holder}") if holder else NO_ERROR
                record["error_code"], record["error"] = error
            if error == NO_ERROR:
                self.execute(step, record)
                if record["error_code"] == "killed" and self.stop.wait(SIGNALLED_S) and self.why != NO_ERROR:
                    record["error_code"], record["error"] = self.why
                used = self.in_use(step, begun)
                if used != NO_ERROR:
                    record["error_code"], record["error"], record["exit_status"] = (*used, None)
        except Exception as e:  # noqa: BLE001 recorded as this step's error, not as a measurement
            record["error_code"], record["error"] = "agent_failed", f"agent: {type(e).__name__}: {e}"
            record["exit_status"] = None
        record["duration_s"] = round(time.monotonic() - begun, 3)
        with self.writing:
            self.out.write(json.dumps(record) + "\n")
            self.out.flush()
            os.fsync(self.out.fileno())

    def in_use(self, step: dict[str, Any], since: float) -> tuple[str, str]:
        """Who computes on the node besides this run, where a step must be alone."""
        if not step.get("exclusive"):
            return NO_ERROR
        try:
            foreign = self.watch.foreign(since, step.get("shares_with", []))
        except Exception as e:  # noqa: BLE001 recorded as this step's error, not as a measurement
            return "agent_failed", f"agent: {type(e).__name__}: {e}"
        return ("in_use", f"not alone on the node: {foreign}") if foreign else NO_ERROR

    def execute(self, step: dict[str, Any], record: dict[str, Any]) -> None:
        """Run the step's command, a client until its server answers, and fill in `record`."""
        program = program_of(step["argv"])
        if shutil.which(program, path=SEARCH) is None:
            record["error_code"], record["error"] = "not_installed", f"{program}: not installed"
            return
        record["tool_version"], record["simulated"] = self.version(step["version_argv"])
        until = min(time.monotonic() + step["timeout_s"], self.deadline)
        if step["side"] == "member" and self.control:
            control = self.control
            member = control.members[step["batch"]]
            record.update(member.wait(lambda: control.query(step["peer_address"]), self.stop, until, LOST_AFTER_S))
            if self.why != NO_ERROR:
                record["error_code"], record["error"], record["exit_status"] = (*self.why, None)
            return
        if step.get("near"):  # this thread runs no other step
            record["placement"], record["unpinned"] = bind_to_node_of(step["near"])
        if step["side"] == "client":
            self.stop.wait(CLIENT_DELAY_S)
        while not self.stop.is_set():
            record["attempts"] += 1
            self.attempt(step, record, until)
            output = record["stdout"] + record["stderr"]
            refused = step["side"] == "client" and record["exit_status"] not in (0, None) and NOT_LISTENING.search(output)
            if not refused or time.monotonic() + RETRY_S > until:
                return
            self.stop.wait(RETRY_S)
        if not record["attempts"]:
            record["error_code"], record["error"] = self.why

    def attempt(self, step: dict[str, Any], record: dict[str, Any], until: float) -> None:
        """Start the command once."""
        sampler = LinkSampler(step["links_of"]).start() if step.get("links_of") else None
        tracer = tracer_of(step, self.environment)
        with self.writing:
            process = subprocess.Popen(  # children inherit the lock: remains of a killed agent keep the node locked
                step["argv"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={**self.environment, BATCH_VARIABLE: str(step["batch"])}, cwd=self.directory, start_new_session=True, pass_fds=[self.lock_fd],
            )  # fmt: skip
            self.processes.add(process)
        out, err = Output(process.stdout), Output(process.stderr)
        timed_out = not ended_within(process, max(0.1, until - time.monotonic()))
        with self.writing:
            self.processes.discard(process)
        record["links"] = sampler.end() if sampler else []
        record["trace"] = tracer.end() if tracer else []
        record["stdout"], record["stderr"] = out.text(), err.text()
        stopped = timed_out or self.stop.is_set()
        record["exit_status"] = None if stopped or process.returncode < 0 else process.returncode
        if stopped:
            late = PLAN_LIMIT if time.monotonic() >= self.deadline else ("timed_out", f"timed out after {step['timeout_s']} s")
            record["error_code"], record["error"] = late if self.why == NO_ERROR else self.why
            record["error"] += "; it cannot be ended: it hangs in the kernel" if process.returncode is None else ""
        elif process.returncode < 0:
            record["error_code"], record["error"] = "killed", f"ended by signal {-process.returncode}"

    def version(self, argv: list[str]) -> tuple[str, bool]:
        """(first line of the tool's version output, whether it contains "simulated"); run once per tool."""
        key = tuple(argv)
        with self.version_lock:
            if key not in self.versions:
                self.versions[key] = tool_version(argv, self.environment)
            return self.versions[key]


def tool_version(argv: list[str], environment: dict[str, str]) -> tuple[str, bool]:
    """The version output of a tool; empty if it does not return within ten seconds, or has no number in its first line, as a help text of nccl-tests."""
    if not argv or shutil.which(argv[0], path=SEARCH) is None:
        return "", False
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    except OSError:
        return "", False
    output = Output(process.stdout)
    ended_within(process, 10)
    text = output.text().strip()
    first = text.splitlines()[0][:200] if text and process.returncode == 0 else ""
    return first if any(letter.isdigit() for letter in first) else "", "simulated" in text.lower()


def program_of(argv: list[str]) -> str:
    """The program that an argument list starts, after `env NAME=value ...`."""
    rest = argv[1:] if argv[0] == "env" else argv
    return next(word for word in rest if not (argv[0] == "env" and "=" in word))


def start(directory: Path) -> int:
    """Start `run` as a process that outlives this one and its connection; what it prints is in LOG."""
    nothing, argv = subprocess.DEVNULL, [sys.executable, "burnin_agent.py", "run", "."]
    with (directory / LOG).open("ab") as log:
        subprocess.Popen(argv, cwd=directory, stdin=nothing, stdout=log, stderr=log, start_new_session=True)
    return 0


def run(directory: Path) -> int:
    """Run DIR/plan.json under the node's lock."""
    if not claim(directory):  # a start that is repeated after a broken SSH connection must not run the plan twice
        return 0
    adopt_orphans()
    note_boot(directory)
    plan = json.loads((directory / "plan.json").read_text(encoding="utf-8"))
    lock_fd, why = lock_node(plan["lock"], plan["owner"])
    agent = Agent(directory, plan, lock_fd)
    if why:
        for step in plan["steps"]:
            agent.guarded(step, ("node_busy", why))
    else:
        os.ftruncate(lock_fd, 0)
        os.pwrite(lock_fd, f"owner {plan['owner']}, run {plan['run']}, pid {os.getpid()}".encode(), 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: threading.Thread(target=agent.end, args=(("interrupted", "interrupted"),)).start())
        agent.run()
    (directory / "done").write_text("done\n", encoding="ascii")
    return 0


def wait(directory: Path, limit_s: float) -> int:
    """Wait for the agent of `directory`. Returns RUNNING if it did not finish in time, 1 if it never will."""
    until = time.monotonic() + limit_s
    waiting = directory / "waiting"  # the plan may have come long before the start, where there are many nodes
    if not waiting.exists():
        if not claimed(directory):
            start(directory)
        waiting.touch()  # after it: a wait that is cut off here is repeated whole
    while True:
        why = why_gone(directory)
        if (directory / "done").exists():
            return 0
        why = rebooted(directory) or why
        if why:
            sys.stderr.write(f"{why}; the records of finished steps are kept\n")
            return 1
        if time.monotonic() >= until:
            sys.stderr.write(f"the burn-in agent did not finish within {limit_s:g} s\n")
            return RUNNING
        time.sleep(0.2)


def why_gone(directory: Path) -> str:
    """Why the agent of `directory` is not at work; empty if it is, or may be about to start."""
    if claimed(directory):
        return "" if at_work(directory) else f"the burn-in agent died{last_words(directory)}"
    return (
        "the burn-in agent never started: did the node reboot?" if time.time() - (directory / "waiting").stat().st_mtime > START_S else ""
    )


def last_words(directory: Path) -> str:
    """The last line that the agent printed, after a colon; empty if it printed nothing."""
    with suppress(OSError):
        lines = (directory / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((f": {line.strip()[:300]}" for line in reversed(lines) if line.strip()), "")
    return ""


if __name__ == "__main__":
    if len(sys.argv) == RUN_WORDS and sys.argv[1] == "start":
        sys.exit(start(Path(sys.argv[2])))
    if len(sys.argv) == RUN_WORDS and sys.argv[1] == "run":
        sys.exit(run(Path(sys.argv[2])))
    if len(sys.argv) == WAIT_WORDS and sys.argv[1] == "wait":
        sys.exit(wait(Path(sys.argv[2]), float(sys.argv[3])))
    sys.stderr.write(__doc__ or "")
    sys.exit(2)
