"""The daemon of nvidia-imex: it answers the other members, and to commands says what the domain looks like from here."""

from __future__ import annotations

import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import daemons
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
    """One member of the domain, with what it read when it started; `address`: its own."""

    version: str
    address: str
    port: int
    members: tuple[str, ...]

    def answer(self, question: Request) -> str:
        """To another member; one of another version is refused."""
        if question.version != self.version:
            return MemberReport(self.version, VERSION_MISMATCH).to_json()
        return (self._connected() if question.about is RequestKind.CONNECTIONS else self._state()).to_json()

    def command(self, question: Request) -> str:
        """To nvidia-imex-ctl, of whatever version."""
        return (self.domain() if question.about is RequestKind.DOMAIN else self._state()).to_json()

    def domain(self) -> Domain:
        """Every member as it describes itself."""
        members = [self._row(address, report) for address, report in zip(self.members, self._ask_all(RequestKind.CONNECTIONS), strict=True)]
        return Domain(domain_status(members), _timestamp(time.time()), tuple(members))

    def _row(self, address: str, report: MemberReport) -> Member:
        # A member that started with another nodes file does not know all of these.
        known = report.status == READY
        met = tuple(report.connections.get(other, NEVER_CONNECTED) if known else INVALID for other in self.members)
        return Member(address, report.status, report.version, met)

    def _state(self) -> MemberReport:
        return MemberReport(self.version, READY)

    def _connected(self) -> MemberReport:
        reports = zip(self.members, self._ask_all(RequestKind.STATE), strict=True)
        return MemberReport(self.version, READY, {a: CONNECTED if r.status == READY else NEVER_CONNECTED for a, r in reports})

    def _ask_all(self, about: RequestKind) -> list[MemberReport]:
        """At the same time: each that is down costs the whole timeout."""
        with ThreadPoolExecutor(len(self.members)) as pool:
            return list(pool.map(lambda address: self._ask(address, about), self.members))

    def _ask(self, address: str, about: RequestKind) -> MemberReport:
        if address == self.address:
            return self._connected() if about is RequestKind.CONNECTIONS else self._state()
        try:
            return MemberReport.from_json(send_request(address, self.port, Request(about, self.version)))
        except NoReplyError:
            return MemberReport("", UNAVAILABLE)


def domain_status(members: Sequence[Member]) -> str:
    """UP if all are ready and connected to all, DOWN if none is ready."""
    ready = [m for m in members if m.status == READY]
    if not ready:
        return "DOWN"
    return "UP" if len(ready) == len(members) and all({*m.connections} == {CONNECTED} for m in members) else "DEGRADED"


def _timestamp(now_s: float) -> str:
    """`9/4/2026 00:00:00.000`."""
    now = time.localtime(now_s)
    return f"{now.tm_mon}/{now.tm_mday}/{time.strftime('%Y %H:%M:%S', now)}.{int(now_s % 1 * 1000):03}"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # A whole rack may ask at once; a connection that finds no place here waits longer than a peer does.
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
            question = Request.from_json(self.rfile.readline(LINE_MAX))
            self.wfile.write(self.server.answer(question).encode() + b"\n")
        except (OSError, NoReplyError):  # one that went away, or spoke of something else, costs nobody else his answer
            return


def run_daemon(config: ImexConfig, version: str) -> int:
    """Answer until systemd ends the program. ImexConfigError if the nodes file is wrong or a port is taken."""
    members = read_members(config.nodes_file)
    node = DomainNode(version, own_address(members), config.server_port, members)
    servers = [_Server(node.address, node.port, node.answer)]
    if config.cmd_enabled:
        servers.append(_Server(COMMAND_ADDRESS, config.cmd_port, node.command))
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    return daemons.run_until_sigterm("imex")
