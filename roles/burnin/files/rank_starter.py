"""The launch agent of mpirun, in place of ssh: starts a command on a node of the same group through the burn-in agent there.

    rank_starter.py HOST WORD...

It reads the plan of its own run, ends with the command's exit status, and ends the command by ending. Standard library, Python 3.8+.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import selectors
import socket
import sys
from pathlib import Path
from typing import Any

from run_claim import at_work

BATCH_VARIABLE = "CLUSTERCTL_BURNIN_BATCH"
PORTS_FILE = "ports.json"
CONNECT_S = 10
CHECK_S = 0.5
IPV6 = "ipv6-"
USAGE, NOT_STARTED = 2, 255  # 255: as ssh ends where it cannot connect


def proof(token: str, nonce: str, request: str) -> str:
    """What shows that the sender of a request knows the run's token; worthless for another request, and for another connection."""
    return hmac.new(bytes.fromhex(token), f"{nonce}\n{request}".encode(), hashlib.sha256).hexdigest()


def set_keepalive(connection: socket.socket) -> None:
    """Notice within half a minute that the other node is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 4)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def connect(plan: dict[str, Any], batch: str, address: str, command: str, port: int) -> socket.socket:
    """A connection on which the agent at an address runs a command."""
    connection = socket.create_connection((address, port), timeout=CONNECT_S)
    set_keepalive(connection)
    head = f"{plan['run']} {plan['node']} {batch} start"
    connection.sendall(f"{head}\n".encode())
    nonce = b""
    while not nonce.endswith(b"\n"):
        more = connection.recv(256)
        if not more:
            raise ConnectionError("the agent closed the connection")
        nonce += more
    request = f"{head}\n{command}"
    shown = proof(plan["token"], nonce.decode("ascii", "replace").strip(), request)
    connection.sendall(json.dumps({"command": command, "proof": shown}).encode() + b"\n")
    return connection


def launcher_lives(folder: Path, parent: int) -> bool:
    """Whether mpirun and the agent that started it are still there."""
    try:
        return os.getppid() == parent and at_work(folder)
    except OSError:
        return False


def relay(connection: socket.socket, address: str, folder: Path, parent: int) -> int:
    """Pass the command's output on until it ends, or the launcher does."""
    rest = b""
    connection.setblocking(False)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        while launcher_lives(folder, parent):
            if not selector.select(CHECK_S):
                continue
            chunk = connection.recv(65536)
            if not chunk:
                sys.stderr.write(f"rank_starter: {address}: the connection ended before the command\n")
                return NOT_STARTED
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                kind, _, value = line.partition(b" ")
                if kind == b"exit":
                    return int(value)
                if kind == b"refused":
                    sys.stderr.write(f"rank_starter: {address}: {value.decode('utf-8', 'replace')}\n")
                    return NOT_STARTED
                stream = sys.stderr.buffer if kind == b"err" else sys.stdout.buffer
                stream.write(base64.b64decode(value))
                stream.flush()
    return NOT_STARTED


def address_of(host: str) -> str:
    """The address of a host; one of IPv6 is written `ipv6-2001-db8--1`, since MPI takes no colon in a name."""
    address = host[len(IPV6) :].replace("-", ":") if host.startswith(IPV6) else ""
    try:
        socket.inet_pton(socket.AF_INET6, address)
    except OSError:
        return host
    return address


def main(words: list[str]) -> int:
    """Run the command of the words after the address."""
    if len(words) < USAGE:
        sys.stderr.write(__doc__ or "")
        return USAGE
    parent, folder = os.getppid(), Path(sys.argv[0]).resolve().parent
    address = address_of(words[0])
    try:
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        known = folder / PORTS_FILE
        ports = json.loads(known.read_text(encoding="utf-8")) if known.exists() else {}
        port = ports.get(address, plan["control_port"])
        with connect(plan, os.environ.get(BATCH_VARIABLE, ""), address, " ".join(words[1:]).strip(), port) as connection:
            return relay(connection, address, folder, parent)
    except (OSError, ValueError, KeyError) as e:
        sys.stderr.write(f"rank_starter: {address}: {e}\n")
        return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
