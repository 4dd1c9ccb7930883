from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clusterctl.adapters.ssh.boot import read_boot
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.model.node import Connection
from clusterctl.model.power import Boot

# A process name may contain spaces and parentheses; field 22 is the start time.
STAT = "1 ((sd) init x) S 0 1 1 0 -1 4194560 60 70 8 9 10 11 12 13 20 0 1 0 250 170000 3000 1844 1 1 0\n"
GOOD = f"5f4c0f2a-0000-4000-8000-000000000001\n3602.75 28000.10\n{STAT}"


class Session:
    def __init__(self, text: str, wait_s: float = 0) -> None:
        self.text, self.wait_s, self.closed = text, wait_s, False

    async def run(self, argv: list[str], _stdin: bytes, _limit: int) -> RemoteResult:
        assert argv[0] == "cat"
        await asyncio.sleep(self.wait_s)
        return RemoteResult(0, self.text.encode(), b"")

    def close(self) -> None:
        self.closed = True


class Client:
    def __init__(self, session: Session) -> None:
        self.session = session

    async def connect(self, connection: Connection) -> Session:
        assert not connection.become, "no password of sudo is needed to read /proc"
        return self.session


def read(session: Session) -> Boot:
    client: Any = Client(session)
    return asyncio.run(read_boot(client, Connection("n1", become=True, user="ops"), 0.2))


def test_boot_id_and_the_age_of_the_first_process() -> None:
    session = Session(GOOD)
    assert read(session) == Boot("5f4c0f2a-0000-4000-8000-000000000001", 3600.2)
    assert session.closed


IMPOSSIBLE = {
    "no end": f"id\ninf 1\n{STAT}",
    "400 digits": f"id\n{'9' * 400} 1\n{STAT}",
    "ticks of 400 digits": f"id\n12.5 1\n{STAT.replace(' 250 ', ' ' + '9' * 400 + ' ')}",
    "ticks of 5,000 digits": f"id\n12.5 1\n{STAT.replace(' 250 ', ' ' + '9' * 5000 + ' ')}",
    "control characters": f"id\x1b[2J\n12.5 1\n{STAT}",
    "a long id": f"{'a' * 65}\n12.5 1\n{STAT}",
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id\n",
        "id\nx y\n" + STAT,
        "id\n1.0 2.0\n1 (init) S 0\n",
        "id\n1.0 2.0\nno stat\n",
        *(pytest.param(t, id=n) for n, t in IMPOSSIBLE.items()),
    ],
)
def test_an_unreadable_answer_is_no_boot(text: str) -> None:
    """`power` shows the boots of all nodes: what one sends must not end it."""
    with pytest.raises(TransportError, match="does not report its boot id"):
        read(Session(text))


def test_a_hung_node_is_a_timeout() -> None:
    session = Session(GOOD, 5)
    with pytest.raises(TransportError) as error:
        read(session)
    assert error.value.failure is TransportFailure.TIMED_OUT
    assert session.closed
