"""The record in PostgreSQL over TLS, as libpq knows it: authorities, host names, client certificates, and the next action where one does not fit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from sqlalchemy import text

from clusterctl.adapters.job_queue import JobQueue
from clusterctl.adapters.store import Store
from clusterctl.adapters.store.engine import connect
from clusterctl.model.errors import QueueError, StoreError
from clusterctl.model.shard import Shard
from support.certificates import Certificates
from support.postgres import Server, binaries, restartable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLS = binaries()
pytestmark = pytest.mark.skipif(TOOLS is None, reason="PostgreSQL's initdb is not installed: apt-get install postgresql")
USER = "clusterctl"


class TlsServer:
    """A server with TLS, and the certificates of those who connect."""

    def __init__(self, found: Server, folder: Path) -> None:
        self._server = found
        self.folder = folder

    def url(self, host: str = "localhost", **parameters: str) -> str:
        """Its URL; the names of files are those in the folder."""
        given = {name: str(self.folder / value) if name != "sslmode" else value for name, value in parameters.items() if value}
        return f"postgresql+psycopg://{USER}@{host}:{self._server.port}/postgres?{urlencode(given)}"


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    assert TOOLS is not None
    with restartable(TOOLS) as found:
        yield found


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    assert TOOLS is not None
    folder = tmp_path_factory.mktemp("certificates")
    certificates = Certificates(folder)
    for authority in ("ca", "other"):
        certificates.authority(authority)
    certificates.sign("server", "localhost")
    certificates.sign("client", USER)
    certificates.sign("stranger", USER, by="other")
    certificates.sign("mallory", "mallory")
    for key in folder.glob("*.key"):
        key.chmod(0o600)
    (folder / "readable.key").write_bytes((folder / "client.key").read_bytes())
    (folder / "readable.key").chmod(0o644)
    with restartable(TOOLS) as found:
        found.require_tls(folder)
        yield TlsServer(found, folder)


GOOD = {"sslmode": "verify-full", "sslrootcert": "ca.pem", "sslcert": "client.pem", "sslkey": "client.key"}


def test_record_and_queue_use_the_same_encrypted_connection(tls: TlsServer) -> None:
    url = tls.url(**GOOD)
    with Store.open(url) as store:
        assert store.nodes() == ()
        (shard,) = store.queue_shards([Shard("order-1", "east", "r12", ("n1",), "c" * 64, "ada")])
    engine = connect(url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).scalar() is True
    engine.dispose()

    async def queue() -> None:
        async with JobQueue.open(url) as jobs:
            await jobs.add([shard])

    asyncio.run(queue())
    with connect(url).connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM procrastinate_jobs")).scalar() == 1


@pytest.mark.parametrize(
    ("changed", "message", "hint"),
    [
        ({"sslrootcert": "other.pem"}, "certificate verify failed", "authority that signed the certificate of the server"),
        ({"sslrootcert": "none.pem"}, "root certificate file", "sslrootcert in database_url must name"),
        ({"host": "127.0.0.1"}, "does not match host name", "as the server's certificate names it"),
        ({"sslcert": "", "sslkey": ""}, "requires a valid client certificate", "add sslcert and sslkey"),
        ({"sslcert": "stranger.pem", "sslkey": "stranger.key"}, "unknown ca", "signed by the server's ssl_ca_file"),
        ({"sslcert": "mallory.pem", "sslkey": "mallory.key"}, "certificate authentication failed", "its common name must be the user"),
        ({"sslkey": "readable.key"}, "private key file", "with mode 0600"),
        ({"sslkey": "none.key"}, "private key file", "sslkey in database_url must name the key of sslcert"),
        ({"sslmode": "disable"}, "no encryption", "add sslmode=verify-full"),
        ({"sslmode": "full"}, "invalid sslmode value", "use verify-full"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_next_action(tls: TlsServer, changed: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(StoreError, match=message) as caught:
        Store.open(tls.url(**GOOD | changed))
    assert hint in caught.value.hint


def test_the_one_of_several_servers_that_answers_is_used_for_record_and_queue(plain: Server) -> None:
    url = f"postgresql+psycopg://{USER}@/postgres?host=127.0.0.1:1&host=127.0.0.1:{plain.port}&target_session_attrs=read-write"
    with Store.open(url) as store:
        assert store.nodes() == ()

    async def queue() -> None:
        async with JobQueue.open(url) as jobs:
            await jobs.add(())

    asyncio.run(queue())


def test_the_queue_has_the_next_action_of_the_database(tls: TlsServer) -> None:
    async def queue() -> None:
        async with JobQueue.open(tls.url(**GOOD | {"sslrootcert": "other.pem"})):
            pass

    with pytest.raises(QueueError, match="certificate verify failed") as caught:
        asyncio.run(queue())
    assert "authority that signed the certificate of the server" in caught.value.hint
    assert caught.value.hint.endswith("; what is queued stays queued")


def test_a_server_without_tls_is_refused(plain: Server) -> None:
    with pytest.raises(StoreError, match="does not support SSL") as caught:
        Store.open(f"{plain.url}?sslmode=verify-full")
    assert "enable ssl on the server" in caught.value.hint


def test_a_misspelt_parameter_is_named(plain: Server) -> None:
    with pytest.raises(StoreError, match="sslmod") as caught:
        Store.open(f"{plain.url}?sslmod=require")
    assert "correct the parameter" in caught.value.hint
