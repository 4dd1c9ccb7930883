"""The lower bound of a fleet's cost: log in, run one command, read the answer, disconnect. Nothing is evaluated or stored.

python benchmarks/ssh_floor.py --first 0 --count 100 --port 2222 --key FILE     (the servers of replay_server.py must run)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys

import asyncssh
from replay_server import address

_AT_ONCE = 64
_COMMAND = f"floor {'0' * 64} end"
_REQUEST = b'{"node": "floor", "nonce": "floor"}'


async def _one(number: int, port: int, key: asyncssh.SSHKey, gate: asyncio.Semaphore) -> int:
    async with gate:
        connection = await asyncssh.connect(
            address(number),
            port,
            username="root",
            client_keys=[key],
            known_hosts=None,
            agent_path=None,
            config=None,
            kex_algs="curve25519-sha256",
            encryption_algs="aes128-gcm@openssh.com",
            compression_algs=["none"],
        )
        done = await connection.run(_COMMAND, input=_REQUEST, encoding=None)
        connection.abort()
        return len(done.stdout or b"")


async def _all(args: argparse.Namespace) -> int:
    key, gate = asyncssh.read_private_key(args.key), asyncio.Semaphore(_AT_ONCE)
    sizes = await asyncio.gather(*(_one(n, args.port, key, gate) for n in range(args.first, args.first + args.count)))
    return min(sizes)


def main() -> int:
    """Query all nodes; print the CPU time and the size of the smallest answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("first", "count", "port"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--key", required=True)
    smallest = asyncio.run(_all(parser.parse_args()))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "answer_bytes": smallest}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
