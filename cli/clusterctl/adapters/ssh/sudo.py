"""sudo with a password: the password is sent once, only to the prompt of sudo, and stdin is sent only after the command has started.

The password is never in an argument, a log or a file. A node whose sudo does not prompt never receives it, and a wrong password is one
failed attempt, not three.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from clusterctl.adapters.ssh.remote_result import TransportError, TransportFailure
from clusterctl.core.redact import MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

# PAM may query a directory server first
LIMIT_S = 30.0
_NOT_FOUND = (126, 127)
_MESSAGE_LIMIT = 300
# sudoers(5), requiretty; clusterctl uses no terminal, because one changes line ends and joins stdout with stderr
NEEDS_TERMINAL = re.compile(r"must have a tty|terminal is required|no tty present")
# Prints the start marker, then replaces itself with the command; a missing command exits with 127. printf composes the marker, because a sudo that
# refuses prints the command line, which must not contain the marker.
_STARTER = 'printf "clusterctl-runs-%s\\n" "$1" >&2; shift; exec "$@"'


class RunningCommand(Protocol):
    """The stderr and stdin of a running command."""

    rc: int | None

    def stderr(self) -> bytes:
        """Stderr so far."""

    def discard_stderr(self, length: int) -> None:
        """Drop the first `length` bytes of stderr."""

    def write_stdin(self, data: bytes) -> None:
        """Write to stdin."""

    async def wait_for_stderr(self) -> bool:
        """Wait for more output on stderr; False if the command has ended."""


@dataclass(frozen=True, slots=True)
class Sudo:
    """One call of sudo; a random token identifies its prompt and its start marker."""

    become_user: str
    password: str = field(repr=False)
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def prompt(self) -> bytes:
        """The prompt of sudo."""
        return f"clusterctl-prompt-{self.token}".encode()

    @property
    def start_marker(self) -> bytes:
        """The line on stderr after which the command reads stdin."""
        return f"clusterctl-runs-{self.token}".encode()

    def command_line(self, argv: Sequence[str]) -> str:
        """The command line for the remote shell; the messages of sudo are English."""
        sudo = ["env", "LC_ALL=C", "sudo", "-S", "-p", self.prompt.decode(), "-H", "-u", self.become_user, "--"]
        return shlex.join([*sudo, "/bin/sh", "-c", _STARTER, "sh", self.token, *argv])

    async def authenticate(self, command: RunningCommand) -> None:
        """Answer the prompt and return when the command runs; stderr then starts with the output of the command.

        Raises:
            TransportError: AUTH_FAILED, or TIMED_OUT.
        """
        try:
            async with asyncio.timeout(LIMIT_S):
                await self._answer_prompt(command)
        except TimeoutError as e:
            why = f"become: sudo neither prompted nor ran the command within {LIMIT_S:g} s: check PAM and its directory server on the node"
            raise TransportError(TransportFailure.TIMED_OUT, why) from e

    async def _answer_prompt(self, command: RunningCommand) -> None:
        prompts = 0
        running = True
        while running:
            stderr = command.stderr()
            line_end = stderr.find(b"\n", at) if (at := stderr.find(self.start_marker)) >= 0 else -1
            if line_end >= 0:
                command.discard_stderr(line_end + 1)
                return
            if stderr.count(self.prompt) > prompts:
                prompts += 1
                if prompts > 1:
                    raise TransportError(
                        TransportFailure.AUTH_FAILED, "become: sudo does not accept ansible_become_password; it was tried once"
                    )
                command.write_stdin(self.password.encode() + b"\n")
            running = await command.wait_for_stderr()
        raise TransportError(TransportFailure.AUTH_FAILED, self._refusal(command.stderr(), prompts > 0, command.rc))

    def _refusal(self, stderr: bytes, prompted: bool, rc: int | None) -> str:
        """Why sudo ended without running the command."""
        after_prompt = (
            self.masked(stderr).rpartition(self.prompt)[2].decode("utf-8", "replace")
        )  # sudo prints its lecture before the prompt
        text = "".join(c if c.isprintable() else " " for c in after_prompt).strip()[:_MESSAGE_LIMIT]
        if rc in _NOT_FOUND and not prompted:
            return f"become: sudo is not installed: {text}"
        if NEEDS_TERMINAL.search(text):
            return f"become: sudo requires a terminal (`Defaults !requiretty` in sudoers removes this): {text}"
        if prompted and "incorrect password" in text:
            return "become: sudo does not accept ansible_become_password; it was tried once"
        return f"become: sudo refuses: {text or f'it ended with exit status {rc}'}"

    def masked(self, stderr: bytes) -> bytes:
        """`stderr` with the password masked."""
        return stderr.replace(self.password.encode(), MASK.encode())
