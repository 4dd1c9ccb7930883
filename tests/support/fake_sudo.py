"""A sudo that an SSH server in this process plays: its prompt, its tries, its ways to refuse."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.ssh_node import Behaviour, Process


@dataclass
class FakeSudo:
    """Behaves as `sudo -S` with a password does, then as the command.

    Attributes:
        inner: the command itself.
        password: what it wants; None = it does not ask.
        told: what it was given at its prompts.
    """

    inner: Behaviour
    password: str | None = "pass word"
    lecture: bytes = b"We trust you have received the usual lecture.\n\n"
    tries: int = 3
    told: list[str] = field(default_factory=list)

    async def __call__(self, process: Process) -> None:
        words = shlex.split(process.command or "")
        prompt = words[words.index("-p") + 1].encode()
        started = b"clusterctl-runs-" + words[words.index("sh", words.index("-c")) + 1].encode()
        process.stderr.write(self.lecture)
        while self.password is not None:
            process.stderr.write(prompt)
            self.told.append((await process.stdin.readline()).decode().removesuffix("\n"))
            if self.told[-1] == self.password:
                break
            if len(self.told) >= self.tries:
                process.stderr.write(b"sudo: 1 incorrect password attempt\n")
                process.exit(1)
                return
            process.stderr.write(b"Sorry, try again.\n")
        process.stderr.write(started + b"\n")
        await self.inner(process)
