"""The daemon of nvidia-imex: answers requests of other members and of nvidia-imex-ctl."""

from __future__ import annotations

import os
import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import daemons, state
from .imex_config import COMMAND_ADDRESS, ImexConfig, ImexConfigError, address_family, own_address, read_members
from .imex_protocol import (
    CONNECTED,
    INVALID,
    LINE_MAX,
    NEVER_CONNECTED,
    READY,
    UNAVAILABLE,
    VERSION_MISMATCH,
    Domain,
    Member,
    MemberReport,
    NoReplyError,
    Request,
    RequestKind,
    send_request,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_REQUEST_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class DomainNode:
    """This member of the domain with the configuration that it read at start; `address` is its own."""

    version: str
    address: str
    port: int
    members: tuple[str, ...]

    def answer(self, request: Request) -> str:
        """The reply to another member; a member of another version is refused."""
        if request.version != self.version:
            return MemberReport(self.version, VERSION_MISMATCH).to_json()
        return (self._connected() if request.about is RequestKind.CONNECTIONS else self._state()).to_json()

    def command(self, request: Request) -> str:
        """The reply to nvidia-imex-ctl of any version."""
        return (self.domain() if request.about is RequestKind.DOMAIN else self._state()).to_json()

    def domain(self) -> Domain:
        """The state of all members as they report it."""
        members = [
            self._row(address, report) for address, report in zip(self.members, self._query_all(RequestKind.CONNECTIONS), strict=True)
        ]
        return Domain(domain_status(members), _timestamp(time.time()), tuple(members))

    def _row(self, address: str, report: MemberReport) -> Member:
        # A member that started with another nodes file does not report a connection to each of these.
        ready = report.status == READY
        connections = tuple(report.connections.get(other, NEVER_CONNECTED) if ready else INVALID for other in self.members)
        return Member(address, report.status, report.version, connections)

    def _state(self) -> MemberReport:
        return MemberReport(self.version, READY)

    def _connected(self) -> MemberReport:
        reports = zip(self.members, self._query_all(RequestKind.STATE), strict=True)
        return MemberReport(self.version, READY, {a: CONNECTED if r.status == READY else NEVER_CONNECTED for a, r in reports})

    def _query_all(self, about: RequestKind) -> list[MemberReport]:
        """Query all members in parallel, because each one that is down takes the whole timeout."""
        with ThreadPoolExecutor(len(self.members)) as pool:
            return list(pool.map(lambda address: self._query(address, about), self.members))

    def _query(self, address: str, about: RequestKind) -> MemberReport:
        if address == self.address:
            return self._connected() if about is RequestKind.CONNECTIONS else self._state()
        try:
            return MemberReport.from_json(send_request(address, self.port, Request(about, self.version)))
        except NoReplyError:
            return MemberReport("", UNAVAILABLE)


def domain_status(members: Sequence[Member]) -> str:
    """UP if all members are ready and connected to all, DOWN if none is ready, otherwise DEGRADED."""
    ready = [m for m in members if m.status == READY]
    if not ready:
        return "DOWN"
    return "UP" if len(ready) == len(members) and all({*m.connections} == {CONNECTED} for m in members) else "DEGRADED"


def _timestamp(now_s: float) -> str:
    """The time as `9/4/2026 00:00:00.000`."""
    now = time.localtime(now_s)
    return f"{now.tm_mon}/{now.tm_mday}/{time.strftime('%Y %H:%M:%S', now)}.{int(now_s % 1 * 1000):03}"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # All trays of a rack may connect at once. A connection that does not fit into the queue would exceed the peer's timeout.
    request_queue_size = 1024

    def __init__(self, address: str, port: int, answer: Callable[[Request], str]) -> None:
        self.address_family = address_family(address)
        self.answer = answer
        try:
            super().__init__((address, port), _Handler)
        except OSError as e:
            raise ImexConfigError(f"cannot listen at {address}, port {port}: {e.strerror}") from e


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = _REQUEST_TIMEOUT_S

    def handle(self) -> None:
        try:
            request = Request.from_json(self.rfile.readline(LINE_MAX))
            self.wfile.write(self.server.answer(request).encode() + b"\n")
        except (OSError, NoReplyError):  # a client that disconnects or sends something else must not affect others
            return


def run_daemon(config: ImexConfig, version: str) -> int:
    """Answer requests until SIGTERM.

    Raises:
        ImexConfigError: the nodes file is invalid, or a port is in use.
    """
    members = read_members(config.nodes_file)
    node = DomainNode(version, own_address(members), config.server_port, members)
    servers = [_Server(node.address, node.port, node.answer)]
    if config.cmd_enabled:
        servers.append(_Server(COMMAND_ADDRESS, config.cmd_port, node.command))
    state.set_flag("imex_domain", " ".join((node.address, *members)))
    if config.daemonize:
        state.set_flag("imex", "1")  # whoever waited for this command finds it running
        if os.fork():
            return 0
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return daemons.run_until_sigterm("imex")
