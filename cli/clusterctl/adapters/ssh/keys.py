"""Private keys and known hosts, read once however many nodes there are."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import asyncssh

from clusterctl.adapters.ssh.exec_result import TransportError, Trouble

SYSTEM_KNOWN_HOSTS = Path("/etc/ssh/ssh_known_hosts")


def private_key(path: Path) -> asyncssh.SSHKey | None:
    """The key in a file; None if it is encrypted and an agent can be asked instead.

    Raises:
        TransportError: AUTH_FAILED, if it cannot be used.
    """
    return _private_key(path, _version(path))


@lru_cache(maxsize=256)
def _private_key(path: Path, _changed: int) -> asyncssh.SSHKey | None:
    try:
        return asyncssh.read_private_key(path)
    except OSError as e:
        raise TransportError(Trouble.AUTH_FAILED, f"key file {path}: {e.strerror}") from e
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError) as e:
        if "passphrase" in str(e).lower() and os.environ.get("SSH_AUTH_SOCK"):
            return None
        raise TransportError(Trouble.AUTH_FAILED, f"key file {path}: {e}") from e


def default_known_hosts() -> tuple[Path, ...]:
    """The user's and the system's."""
    return (Path("~/.ssh/known_hosts").expanduser(), SYSTEM_KNOWN_HOSTS)


def known_hosts(paths: tuple[Path, ...]) -> asyncssh.SSHKnownHosts:
    """The host keys in these files; a missing file holds none.

    Raises:
        TransportError: HOST_KEY_UNKNOWN, if a file cannot be read or understood: without it nothing can be trusted.
    """
    return _known_hosts(paths, tuple(map(_version, paths)))


@lru_cache(maxsize=64)
def _known_hosts(paths: tuple[Path, ...], _changed: tuple[int, ...]) -> asyncssh.SSHKnownHosts:
    try:
        texts = [p.read_text(encoding="utf-8") for p in paths if p.exists()]
        return asyncssh.import_known_hosts("\n".join(texts))
    except (OSError, ValueError) as e:
        raise TransportError(Trouble.HOST_KEY_UNKNOWN, f"known_hosts {', '.join(map(str, paths))}: {e}") from e


def _version(path: Path) -> int:
    """Changes with the file; a stat per node is cheap, parsing is not."""
    try:
        found = path.stat()
    except OSError:
        return 0
    return hash((found.st_mtime_ns, found.st_size, found.st_ino))


def is_known(hosts: asyncssh.SSHKnownHosts, host: str, port: int) -> bool:
    """Whether some key of this host is on file."""
    return any(hosts.match(host, "", None if port == asyncssh.DEFAULT_PORT else port)[:2])
