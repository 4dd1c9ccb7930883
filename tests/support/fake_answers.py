"""The node's side of the protocol, played by an SSH server in this process."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.ssh_node import Process

PASS = {"role": "example", "outcome": "pass", "severity": "major"}


def answer_to(request: dict[str, Any], bundle: str) -> dict[str, Any]:
    """A good answer: one passing check per role."""
    findings = [{**PASS, "check": f"{role}.a", "role": role} for role in request["roles"]]
    return {
        "schema_version": 1,
        "node": request["node"],
        "nonce": request["nonce"],
        "bundle": bundle,
        "view": "read-only",
        "cpu_quota": "50 % of a core",
        "findings": findings,
    }


@dataclass
class FakeNode:
    """Behaves like launcher and bundle; `edit` may change the answer before it is sent.

    Attributes:
        kept: digests of the bundles it has.
        execs: the modes it was started in.
    """

    edit: Callable[[dict[str, Any]], object] = lambda answer: answer
    kept: set[str] = field(default_factory=set)
    execs: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, process: Process) -> None:
        words = shlex.split(process.command or "")
        start, mode, sha256, length, _oldest, _module = words[-6:]
        size, launcher = int(length), int(re.findall(r"read\((\d+)\)", start)[0])
        sent = await process.stdin.read()
        rest = sent[launcher:]
        self.execs.append(mode)
        if mode == "push":
            content, rest = rest[:size], rest[size:]
            assert hashlib.sha256(content).hexdigest() == sha256
            self.kept.add(sha256)
        if sha256 not in self.kept:
            process.stderr.write(b"clusterctl: bundle absent\n")
            process.exit(93)
            return
        request = json.loads(rest)
        self.requests.append(request)
        answer = self.edit(answer_to(request, sha256))
        process.stdout.write(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")
        process.exit(0)
