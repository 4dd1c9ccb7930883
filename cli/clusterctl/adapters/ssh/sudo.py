"""sudo that may ask for a password: it is given to sudo's own prompt only, once, and nothing is sent to a command before it runs.

Never in an argument, a log or a file. A node whose sudo does not ask never gets it; a wrong one counts as one failed attempt, not as three.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from clusterctl.adapters.ssh.exec_result import TransportError, Trouble
from clusterctl.core.redact import MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

# PAM may ask a directory server first
LIMIT_S = 30.0
_NOT_FOUND = (126, 127)
_SAID_AT_MOST = 300
_WANTS_TERMINAL = re.compile(r"must have a tty|terminal is required|no tty present")
# Tells that it runs, then becomes the command: a missing command exits 127, with sudo too. The line is put together there: a sudo that refuses repeats
# the command line, and must not be taken for it.
_STARTER = 'printf "clusterctl-runs-%s\\n" "$1" >&2; shift; exec "$@"'


class Conversation(Protocol):
    """What a running command says on stderr, and what it is told."""

    rc: int | None

    def said(self) -> bytes:
        """All of stderr so far."""

    def forget(self, until: int) -> None:
        """Drop the first bytes of stderr."""

    def tell(self, data: bytes) -> None:
        """Write to its stdin."""

    async def more(self) -> bool:
        """Wait for more of stderr; False once the command has ended."""


@dataclass(frozen=True, slots=True)
class Sudo:
    """One call of sudo; its prompt and its start are known by a random key."""

    become_user: str
    password: str = field(repr=False)
    key: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def prompt(self) -> bytes:
        """What sudo asks with."""
        return f"clusterctl-asks-{self.key}".encode()

    @property
    def started(self) -> bytes:
        """The line on stderr after which stdin is the command's."""
        return f"clusterctl-runs-{self.key}".encode()

    def command_line(self, argv: Sequence[str]) -> str:
        """The remote shell's line; sudo speaks English in it."""
        sudo = ["env", "LC_ALL=C", "sudo", "-S", "-p", self.prompt.decode(), "-H", "-u", self.become_user, "--"]
        return shlex.join([*sudo, "/bin/sh", "-c", _STARTER, "sh", self.key, *argv])

    async def open(self, talk: Conversation) -> None:
        """Return once the command runs; stderr then starts with its own words.

        Raises:
            TransportError: AUTH_FAILED, or TIMED_OUT.
        """
        try:
            async with asyncio.timeout(LIMIT_S):
                await self._converse(talk)
        except TimeoutError as e:
            why = f"become: sudo neither asked nor ran within {LIMIT_S:g} s: look at PAM and its directory server there"
            raise TransportError(Trouble.TIMED_OUT, why) from e

    async def _converse(self, talk: Conversation) -> None:
        asked = 0
        running = True
        while running:
            said = talk.said()
            line_end = said.find(b"\n", at) if (at := said.find(self.started)) >= 0 else -1
            if line_end >= 0:
                talk.forget(line_end + 1)
                return
            if said.count(self.prompt) > asked:
                asked += 1
                if asked > 1:
                    raise TransportError(Trouble.AUTH_FAILED, "become: sudo does not accept ansible_become_password; it was tried once")
                talk.tell(self.password.encode() + b"\n")
            running = await talk.more()
        raise TransportError(Trouble.AUTH_FAILED, self._refusal(talk.said(), asked > 0, talk.rc))

    def _refusal(self, stderr: bytes, asked: bool, rc: int | None) -> str:
        """Why sudo ended without running anything."""
        said = self.masked(stderr).rpartition(self.prompt)[2].decode("utf-8", "replace")  # a lecture comes before
        text = "".join(c if c.isprintable() else " " for c in said).strip()[:_SAID_AT_MOST]
        if rc in _NOT_FOUND and not asked:
            return f"become: there is no sudo: {text}"
        if _WANTS_TERMINAL.search(text):
            return f"become: sudo wants a terminal, and has none here (Defaults !requiretty in sudoers allows it): {text}"
        if asked and "incorrect password" in text:
            return "become: sudo does not accept ansible_become_password; it was tried once"
        return f"become: sudo refuses: {text or f'it ended with status {rc}'}"

    def masked(self, stderr: bytes) -> bytes:
        """`stderr` without the password, whoever repeated it."""
        return stderr.replace(self.password.encode(), MASK.encode())
