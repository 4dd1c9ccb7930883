"""Where the agents of a run meet: each listens on the first port of the plan that it gets, and finds the others on theirs.

Another user of a node may take any port, so an answer counts only with proof of the run's token. Standard library, Python 3.8+.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
from typing import TYPE_CHECKING, Any

from port_holder import holder_of
from rank_starter import PORTS_FILE, proof

if TYPE_CHECKING:
    from pathlib import Path

    from rank_server import Member

ALL_DONE = 1 << 30
QUERY_WORDS, ANSWER_WORDS, START_WORDS = 6, 2, 4
LINE = 512


class PortsTakenError(Exception):
    """None of the run's ports can be listened on."""


class Meeting:
    """Reports this agent's progress to other agents of the same run, and queries theirs.

    A query contains the sender's node, batch and port. Two agents have met in a batch once one of them has queried and the other has
    answered while both were in it: then both know, whichever sent the query.

    Attributes:
        known: address -> the port where an agent of this run answered; the starter of ranks reads it in the run's folder.
    """

    def __init__(self, plan: dict[str, Any], folder: Path) -> None:
        self.run: str = plan["run"]
        self.node: str = plan["node"]
        self.token: str = plan["token"]
        self.ports: list[int] = [plan["control_port"], *plan.get("spare_ports", [])]
        self.file = folder / PORTS_FILE
        self.known: dict[str, int] = {}
        self.saving = threading.Lock()
        self.addresses = {name: address for step in plan["steps"] for name, address in peers_of(step)}
        self.batch = -1
        self.met: set[tuple[str, int]] = set()
        self.members: dict[int, Member] = {}
        self.server = self._listen(plan["listen"])
        self.port: int = self.server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _listen(self, address: str) -> socket.socket:
        dual = not address and socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if dual or ":" in address else socket.AF_INET
        why = []
        for port in self.ports:
            try:
                return socket.create_server((address, port), family=family, dualstack_ipv6=dual, backlog=128)
            except OSError as e:
                why.append(f"{port} ({holder_of(port, address) or e.strerror or e})")
        raise PortsTakenError(f"cannot listen on port {', '.join(why)}")

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client:
            client.settimeout(5)
            try:
                words = client.makefile("rb", buffering=0).readline(LINE).decode("utf-8", "replace").split()
                batch = self.batch
                if len(words) == START_WORDS and words[0] == self.run:
                    self._start(client, words)
                    return
                if len(words) != QUERY_WORDS or not self._is_proven(words[5], words[4], self._question(*words[1:4])):
                    client.sendall(b"other run\n")
                    return
                self._found(self.addresses.get(words[1], ""), int(words[3]))
                client.sendall(f"{batch} {proof(self.token, words[4], self._answered(batch))}\n".encode())
                if words[2] == str(batch):
                    self.met.add((words[1], batch))
            except OSError:
                return

    def _start(self, client: socket.socket, words: list[str]) -> None:
        member = self.members.get(self.batch)
        if member is None or words[2] != str(self.batch):
            client.sendall(b"-\nrefused no ranks are to be started here in this batch\n")
            return
        member.serve(client, " ".join(words))

    def query(self, address: str) -> int | None:
        """The batch of the agent at `address`; None if no agent of this run answers."""
        for port in [self.known[address]] if address in self.known else self.ports:
            batch = self._query(address, port)
            if batch is not None:
                self._found(address, port)
                return batch
        return None

    def _query(self, address: str, port: int) -> int | None:
        nonce = secrets.token_hex(16)
        words = [self.node, str(self.batch), str(self.port)]
        shown = proof(self.token, nonce, self._question(*words))
        try:
            with socket.create_connection((address, port), timeout=2) as peer:
                peer.settimeout(5)
                peer.sendall(f"{self.run} {' '.join(words)} {nonce} {shown}\n".encode())
                words = peer.makefile("rb").readline(LINE).decode("utf-8", "replace").split()
                proven = len(words) == ANSWER_WORDS and self._is_proven(words[1], nonce, self._answered(int(words[0])))
                return int(words[0]) if proven else None
        except (OSError, ValueError):
            return None

    def _question(self, node: str, batch: str, port: str) -> str:
        return f"{self.run} {node} {batch} {port} query"

    def _answered(self, batch: int) -> str:
        return f"{self.run} {batch} answer"

    def _is_proven(self, shown: str, nonce: str, text: str) -> bool:
        return hmac.compare_digest(shown.encode(), proof(self.token, nonce, text).encode())

    def _found(self, address: str, port: int) -> None:
        with self.saving:
            if address and self.known.get(address) != port:
                self.known[address] = port
                incomplete = self.file.with_suffix(".new")
                incomplete.write_text(json.dumps(self.known), encoding="utf-8")
                incomplete.replace(self.file)


def peers_of(step: dict[str, Any]) -> list[tuple[str, str]]:
    """(node, address) of those that a step needs in its batch: the other members of its group, or its peer."""
    members = [(name, address) for name, address in step.get("members", [])]
    return members or ([(step["peer"], step["peer_address"])] if step["peer_address"] else [])
