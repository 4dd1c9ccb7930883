"""A fake sudo for an SSH server in this process, with prompt, attempts and refusals."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.ssh_node import Behaviour, Process


@dataclass
class FakeSudo:
    """Behaves like `sudo -S` with a password, then like the command.

    Attributes:
        inner: the command.
        password: the accepted password; None = no prompt.
        received: the answers to its prompts.
    """

    inner: Behaviour
    password: str | None = "pass word"
    lecture: bytes = b"We trust you have received the usual lecture.\n\n"
    tries: int = 3
    received: list[str] = field(default_factory=list)

    async def __call__(self, process: Process) -> None:
        words = shlex.split(process.command or "")
        prompt = words[words.index("-p") + 1].encode()
        started = b"clusterctl-runs-" + words[words.index("sh", words.index("-c")) + 1].encode()
        process.stderr.write(self.lecture)
        while self.password is not None:
            process.stderr.write(prompt)
            self.received.append((await process.stdin.readline()).decode().removesuffix("\n"))
            if self.received[-1] == self.password:
                break
            if len(self.received) >= self.tries:
                process.stderr.write(b"sudo: 1 incorrect password attempt\n")
                process.exit(1)
                return
            process.stderr.write(b"Sorry, try again.\n")
        process.stderr.write(started + b"\n")
        await self.inner(process)
