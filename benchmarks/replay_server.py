"""Nodes that replay a recorded answer: SSH servers on loopback addresses, in a process of their own.

    python benchmarks/replay_server.py --first 1 --count 250 --port 2222 --keys DIR --answer FILE --lifetime 900

Answers for whatever node is asked (the name and the nonce of the request come back), says `ready` on stdout, and ends when its stdin
closes or its lifetime is over; then it prints what it cost, for its CPU is not the controller's.
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

import asyncssh

_ASKED = re.compile(rb'"node": "([^"]+)", "nonce": "([^"]+)"')
_BUNDLE = re.compile(r" ([0-9a-f]{64}) ")
OWN = "{{node}}"


def address(number: int) -> str:
    """The loopback address of host `number`, from 127.1.0.1 on."""
    return f"127.{1 + number // 62_500}.{number % 62_500 // 250}.{number % 250 + 1}"


@dataclass(frozen=True)
class Replay:
    """Answers every exec from the recording; what differs from node to node differs here too."""

    findings: bytes

    async def __call__(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """One exec."""
        sent = await process.stdin.read()
        asked, bundle = _ASKED.search(sent), _BUNDLE.search(process.command or "")
        if asked is None or bundle is None:
            process.stderr.write(b"replay: not a request\n")
            process.exit(1)
            return
        node, nonce = asked.groups()
        head = b'{"schema_version": 1, "node": "%s", "nonce": "%s", "bundle": "%s", ' % (node, nonce, bundle[1].encode())
        process.stdout.write(head + b'"findings": ' + self.findings.replace(OWN.encode(), node) + b"}\n")
        process.exit(0)


class _Server(asyncssh.SSHServer):
    """Lets in whoever has the key."""

    def begin_auth(self, username: str) -> bool:  # noqa: ARG002
        return True


async def _serve(args: argparse.Namespace) -> None:
    replay = Replay(json.dumps(json.loads(args.answer.read_text())).encode())
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
    """Serve, then tell the CPU time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, required=True, help="number of the first host")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--keys", type=Path, required=True, help="folder with host_key, user_key.pub")
    parser.add_argument("--answer", type=Path, required=True, help="a JSON list of findings; {{node}} in it becomes the node's name")
    parser.add_argument("--lifetime", type=float, default=900.0, help="seconds after which it ends by itself")
    args = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(_serve(args))
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stdout.write(json.dumps({"cpu_s": used.ru_utime + used.ru_stime}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # a thread may still wait for stdin where the lifetime is over


if __name__ == "__main__":
    sys.exit(main())
