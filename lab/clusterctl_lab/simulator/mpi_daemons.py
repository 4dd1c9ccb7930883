"""How Open MPI 4.1 starts a daemon (`orted`) on every other node, with the launch agent of plm_rsh_agent."""

from __future__ import annotations

import json
import select
import shlex
import socket
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

START_S = 30.0
PROBE_PORT = 9
_FAILED = """--------------------------------------------------------------------------
ORTE was unable to reliably start one or more daemons.
This usually is caused by:

* not finding the required libraries and/or binaries on
  one or more nodes. Please check your PATH and LD_LIBRARY_PATH
  settings, or configure OMPI with --enable-orterun-prefix-by-default
--------------------------------------------------------------------------"""


class DaemonError(Exception):
    """A daemon could not be started; the text is Open MPI's."""


def is_local(address: str) -> bool:
    """Whether an address is one of this node; of the loopback network, only the one that an interface has."""
    if address.startswith("127."):
        return address == "127.0.0.1"
    try:
        with socket.create_server((address, 0)):
            return True
    except OSError:
        return False


def _own_address(others: Sequence[str]) -> str:
    """The address of this node on its way to the others; sends nothing. Open MPI offers all of its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((others[0], PROBE_PORT))
        except (OSError, IndexError):
            return "127.0.0.1"
        return str(probe.getsockname()[0])


class Daemons:
    """The daemons on other nodes, from their start to the end of the run."""

    def __init__(self, addresses: Sequence[str], agent: str) -> None:
        self.server = socket.create_server(("", 0))
        self.connections: dict[str, socket.socket] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        uri = f'"4711.0;tcp://{_own_address(addresses)}:{self.server.getsockname()[1]}"'
        for rank, address in enumerate(addresses, 1):
            if not agent:
                raise DaemonError(f"ssh: connect to host {address}: Host key verification failed.\n{_FAILED}")
            daemon = [" orted", "-mca", "ess", '"env"', "-mca", "ess_base_vpid", str(rank), "-mca", "orte_hnp_uri", uri]
            self.processes.append(subprocess.Popen([*shlex.split(agent), address, *daemon], stdin=subprocess.DEVNULL))
        self._accept(len(addresses))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for connection in self.connections.values():
            connection.close()
        self.server.close()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    def order(self, orders: Mapping[str, Mapping[str, str]]) -> None:
        """Set for each node, by name, which files its ranks write (name -> text); returns when they are written."""
        for node, files in orders.items():
            if node in self.connections:
                with self.connections[node].makefile("rw", encoding="utf-8") as lines:
                    lines.write(json.dumps(dict(files)) + "\n")
                    lines.flush()
                    lines.readline()

    def _accept(self, expected: int) -> None:
        until = time.monotonic() + START_S
        while len(self.connections) < expected:
            if any(p.poll() is not None for p in self.processes) or time.monotonic() > until:
                self.__exit__(None, None, None)
                raise DaemonError(_FAILED)
            if select.select([self.server], [], [], 0.1)[0]:
                connection, _ = self.server.accept()
                name = b""
                while not name.endswith(b"\n") and (byte := connection.recv(1)):
                    name += byte
                self.connections[name.decode().strip()] = connection
