"""Nodes that replay a recorded answer: SSH servers on loopback addresses in a separate process.

    python benchmarks/replay_server.py --first 1 --count 250 --port 2222 --keys DIR --answer FILE --lifetime 900

Answers as the node that the request names. Prints `ready` to stdout, and ends when stdin is closed or the lifetime is over; then prints its CPU time,
which does not belong to the controller.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

_REQUEST = re.compile(rb'"node": "([^"]+)", "nonce": "([^"]+)"')
_BUNDLE = re.compile(r" ([0-9a-f]{64}) ")
NODE_NAME = "{{node}}"


def address(number: int) -> str:
    """The loopback address of host `number`, from 127.1.0.1 on."""
    return f"127.{1 + number // 62_500}.{number % 62_500 // 250}.{number % 250 + 1}"


@dataclass(frozen=True)
class Replay:
    """Answers each exec with the recorded findings, with the node's name filled in."""

    findings: bytes

    async def __call__(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Handle one exec."""
        sent = await process.stdin.read()
        request, bundle = _REQUEST.search(sent), _BUNDLE.search(process.command or "")
        if request is None or bundle is None:
            process.stderr.write(b"replay: not a request\n")
            process.exit(1)
            return
        node, nonce = request.groups()
        head = b'{"schema_version": 1, "node": "%s", "nonce": "%s", "bundle": "%s", ' % (node, nonce, bundle[1].encode())
        process.stdout.write(head + b'"findings": ' + self.findings.replace(NODE_NAME.encode(), node) + b"}\n")
        process.exit(0)


class _Server(asyncssh.SSHServer):
    """Accepts any user with the authorized key."""

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002
        return True


def _with_own_value(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One finding differs from node to node, as in a real fleet: where all answers are equal, they are read once, and the rest would not be measured."""
    return [*findings[:-1], *({**last, "found": f"of {NODE_NAME}"} for last in findings[-1:])]


async def _serve(args: argparse.Namespace) -> None:
    replay = Replay(json.dumps(_with_own_value(json.loads(args.answer.read_text()))).encode())
    options = asyncssh.SSHServerConnectionOptions(
        server_factory=_Server,
        server_host_keys=[str(args.keys / "host_key")],
        authorized_client_keys=str(args.keys / "user_key.pub"),
        encoding=None,
        process_factory=replay,
    )
    servers = [
        await asyncssh.listen(address(n), args.port, options=options, backlog=16) for n in range(args.first, args.first + args.count)
    ]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    closed = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(closed, args.lifetime)
    for server in servers:
        server.close()


def main() -> int:
    """Serve, then print the CPU time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, required=True, help="number of the first host")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--keys", type=Path, required=True, help="folder with host_key, user_key.pub")
    parser.add_argument("--answer", type=Path, required=True, help="a JSON list of findings; {{node}} in it is replaced by the node's name")
    parser.add_argument("--lifetime", type=float, default=900.0, help="seconds after which it ends")
    args = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_serve(args))
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stdout.write(json.dumps({"cpu_s": used.ru_utime + used.ru_stime}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # when the lifetime is over, a thread still waits for stdin


if __name__ == "__main__":
    sys.exit(main())
