"""A member of a group: runs the one command that the group's launcher starts here, as long as the launcher is connected.

Only the launcher of a batch is served, only in that batch, and only with proof that it knows the token of the run. Standard library, Python 3.8+.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import select
import shlex
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

from child_process import GRACE_S, Output, ended_within
from rank_starter import proof, set_keepalive

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

REQUEST_LIMIT = 1 << 20
SEND_S = 30
ASK_S, RARELY_ASK_S = 0.5, 5.0
END_S = 1.0  # an MPI daemon that loses its launcher ends by itself

HANGS = "what was started here cannot be ended: it hangs in the kernel"


class RefusedError(Exception):
    """The launcher's request is not carried out."""


class Member:
    """The member step of one batch.

    Attributes:
        finished: the command has ended, or none will be started any more.
    """

    def __init__(self, plan: dict[str, Any], step: dict[str, Any], folder: Path, environment: dict[str, str], lock_fd: int) -> None:
        self.plan = plan
        self.step = step
        self.folder = folder
        self.environment = environment
        self.lock_fd = lock_fd
        self.stop = threading.Event()
        self.finished = threading.Event()
        self.claim = threading.Lock()
        self.sending = threading.Lock()
        self.claimed = False
        self.output: tuple[Output, Output] | None = None
        self.result: dict[str, Any] = {}

    def serve(self, connection: socket.socket, head: str) -> None:
        """Carry out the request of one connection; `head` is its first line."""
        try:
            words = self.request(connection, head)
        except (RefusedError, OSError, ValueError, KeyError) as e:
            connection.sendall(f"refused {e}\n".encode())
            return
        try:
            self.run(connection, words)
        finally:
            self.finished.set()

    def request(self, connection: socket.socket, head: str) -> list[str]:
        """The command that the launcher may start."""
        nonce = secrets.token_hex(32)
        connection.sendall(f"{nonce}\n".encode())
        line = connection.makefile("rb").readline(REQUEST_LIMIT)
        request = json.loads(line.decode("utf-8"))
        command = str(request["command"])
        expected = proof(self.plan["token"], nonce, f"{head}\n{command}")
        if not hmac.compare_digest(expected, str(request["proof"])):
            raise RefusedError("the request does not come from this run")
        if head.split()[1] != self.step["peer"]:
            raise RefusedError(f"only {self.step['peer']} starts ranks here")
        words = shlex.split(command)
        program = self.step["argv"][0]
        if not words or words[0] != program:
            raise RefusedError(f"only {program} may be started, with no directory and no variables before it")
        with self.claim:
            if self.claimed or self.stop.is_set():
                raise RefusedError("the ranks of this node have been started before, or their time is over")
            self.claimed = True
        return words

    def run(self, connection: socket.socket, words: list[str]) -> None:
        """Run the command until it ends, the launcher is gone, or the step is over."""
        connection.settimeout(SEND_S)
        set_keepalive(connection)
        try:
            process = subprocess.Popen(  # the lock, too: remains of a killed agent keep the node locked
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=self.environment, cwd=self.folder, start_new_session=True, pass_fds=[self.lock_fd],
            )  # fmt: skip
        except OSError as e:
            self.result = {"error_code": "not_installed", "error": f"{words[0]}: {e.strerror}"}
            self.send(connection, f"refused {words[0]}: {e.strerror}\n".encode())
            return
        self.output = (self.passed_on(process.stdout, connection, "out"), self.passed_on(process.stderr, connection, "err"))
        why = self.watch(process, connection)
        by_itself = ended_within(process, END_S if why else 0.0)
        if not by_itself and why:
            self.result = {"error_code": why[0], "error": why[1]}
        elif process.returncode is None:
            self.result = {"error_code": "killed", "error": HANGS}
        elif process.returncode < 0:
            self.result = {"error_code": "killed", "error": f"ended by signal {-process.returncode}"}
        else:
            self.result = {"exit_status": process.returncode}
        self.output[0].thread.join(GRACE_S)
        self.output[1].thread.join(GRACE_S)
        self.send(connection, b"exit %d\n" % self.result.get("exit_status", 255))

    def watch(self, process: subprocess.Popen[bytes], connection: socket.socket) -> tuple[str, str] | None:
        """Why the command must end; None if it has ended by itself."""
        while process.poll() is None:
            if self.stop.is_set():
                return "peer_silent", f"{self.step['peer']} was done before the command that it started here"
            if select.select([connection], [], [], 0.2)[0]:
                try:
                    gone = not connection.recv(4096)
                except OSError:
                    gone = True
                if gone:
                    return "peer_silent", f"{self.step['peer']} closed the connection; what it had started here was ended"
        return None

    def passed_on(self, pipe: Any, connection: socket.socket, name: str) -> Output:
        """A pipe whose content goes to the launcher as well."""
        return Output(pipe, lambda chunk: self.send(connection, f"{name} ".encode() + base64.b64encode(chunk) + b"\n"))

    def send(self, connection: socket.socket, line: bytes) -> None:
        """One line to the launcher, if it is still there."""
        with self.sending:
            try:
                connection.sendall(line)
            except OSError:
                return

    def wait(self, progress: Callable[[], int | None], stop: threading.Event, until: float, lost_after_s: float) -> dict[str, Any]:
        """The fields of the step's record, once the command has ended or the launcher has left the batch; `progress` asks it for its own."""
        seen = time.monotonic()
        next_query = 0.0
        while not self.finished.is_set() and not stop.is_set() and time.monotonic() < until:
            if time.monotonic() >= next_query:
                theirs = progress()
                seen = time.monotonic() if theirs is not None else seen
                if (theirs is not None and theirs > self.step["batch"]) or time.monotonic() - seen > lost_after_s:
                    break
                # The connection shows a launcher that ends; hundreds of members would disturb what it measures.
                next_query = time.monotonic() + (RARELY_ASK_S if self.claimed else 0.0)
            self.finished.wait(ASK_S)
        with self.claim:
            self.stop.set()
            claimed = self.claimed
        if claimed:
            self.finished.wait(END_S + 4 * GRACE_S)
        else:
            self.result = {"error_code": "peer_silent", "error": f"{self.step['peer']} started nothing here"}
        found = dict(self.result or {"error_code": "killed", "error": HANGS})
        if self.output:
            found["stdout"], found["stderr"] = (pipe.text() for pipe in self.output)
        return {"attempts": int(claimed), **found}
