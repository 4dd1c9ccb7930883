"""A PostgreSQL server for one test session, if its binaries are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.ports import free_port
from support.unpacked_tools import environment, which

if TYPE_CHECKING:
    from collections.abc import Iterator


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl; None if they are missing, or not executable for the user that must run them."""
    found = which("initdb")
    if found is None:
        return None
    words = [*_as_user(), found, "--version"]
    usable = subprocess.run(words, check=False, capture_output=True, env=environment(), cwd="/", timeout=60).returncode == 0
    return Path(found).resolve().parent if usable else None


@dataclass
class Server:
    """A server of one database cluster, which can be killed and started again on its port."""

    tools: Path
    data: Path
    port: int

    @property
    def url(self) -> str:
        """Its SQLAlchemy URL."""
        return f"postgresql+psycopg://clusterctl@127.0.0.1:{self.port}/postgres"

    def start(self, within_s: float = 0) -> None:
        """Start it, and wait until it answers; after `kill`, processes of the old one may keep its memory for some seconds."""
        until = time.monotonic() + within_s
        while True:
            try:
                return self._start()
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)

    def _start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self._pg_ctl("-w", "-t", "60", "-l", str(self.data / "log"), "-o", options, "start")

    def require_tls(self, certificates: Path) -> None:
        """Start again with `server.pem` of a folder; clients must have a certificate that its `ca.pem` signed, with the user as common name."""
        self.stop()
        for name in ("server.pem", "server.key", "ca.pem"):
            shutil.copy(certificates / name, self.data / name)
            (self.data / name).chmod(0o600)
            if _as_user():
                os.chown(self.data / name, _user().pw_uid, _user().pw_gid)
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write("ssl=on\nssl_cert_file='server.pem'\nssl_key_file='server.key'\nssl_ca_file='ca.pem'\n")
        (self.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 cert\n", encoding="utf-8")
        self.start()

    def stop(self) -> None:
        """End it as a power loss would, without that of the disk."""
        self._pg_ctl("-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """End its main process by SIGKILL: the others end when they notice."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def _pg_ctl(self, *words: str) -> None:
        _run([*_as_user(), str(self.tools / "pg_ctl"), "-D", str(self.data), *words])


@contextmanager
def restartable(tools: Path) -> Iterator[Server]:
    """As `server`; yields the server."""
    # Not below pytest's folder, which other users cannot access.
    with tempfile.TemporaryDirectory(prefix="clusterctl-postgres-") as folder:
        data = Path(folder)
        as_user = _as_user()
        if as_user:
            os.chown(data, _user().pw_uid, _user().pw_gid)
        _run([*as_user, str(tools / "initdb"), "-D", str(data), "-U", "clusterctl", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"])
        found = Server(tools, data, free_port())
        found.start()
        try:
            yield found
        finally:
            found.stop()


@contextmanager
def server(tools: Path) -> Iterator[str]:
    """Run a server with an empty database on a free port of 127.0.0.1; yields its SQLAlchemy URL. If the tests run as root, it runs as `postgres` or `nobody`."""
    with restartable(tools) as found:
        yield found.url


def _user() -> pwd.struct_passwd:
    users = {u.pw_name: u for u in pwd.getpwall()}
    return users.get("postgres", users["nobody"])


def _as_user() -> list[str]:
    """The prefix of commands that must not run as root."""
    return ["setpriv", f"--reuid={_user().pw_uid}", f"--regid={_user().pw_gid}", "--clear-groups"] if os.getuid() == 0 else []


def _run(argv: list[str]) -> None:
    done = subprocess.run(
        argv, check=False, capture_output=True, text=True, cwd="/", env=environment(), timeout=120, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"{argv}: {done.stdout}{done.stderr}")
