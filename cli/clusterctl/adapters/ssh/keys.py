"""Private keys and known_hosts files, parsed once for all nodes."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import asyncssh

from clusterctl.adapters.ssh.remote_result import TransportError, TransportFailure

SYSTEM_KNOWN_HOSTS = Path("/etc/ssh/ssh_known_hosts")


def private_key(path: Path) -> asyncssh.SSHKey | None:
    """The key in a file; None if it is encrypted and an ssh-agent is available instead.

    Raises:
        TransportError: AUTH_FAILED if the key cannot be used.
    """
    return _private_key(path, _file_version(path))


@lru_cache(maxsize=256)
def _private_key(path: Path, _changed: int) -> asyncssh.SSHKey | None:
    try:
        return asyncssh.read_private_key(path)
    except OSError as e:
        raise TransportError(TransportFailure.AUTH_FAILED, f"key file {path}: {e.strerror}") from e
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError) as e:
        if "passphrase" in str(e).lower() and os.environ.get("SSH_AUTH_SOCK"):
            return None
        raise TransportError(TransportFailure.AUTH_FAILED, f"key file {path}: {e}") from e


def default_known_hosts() -> tuple[Path, ...]:
    """The known_hosts files of the user and of the system."""
    return (Path("~/.ssh/known_hosts").expanduser(), SYSTEM_KNOWN_HOSTS)


def known_hosts(paths: tuple[Path, ...]) -> asyncssh.SSHKnownHosts:
    """The host keys in these files; missing files are ignored.

    Raises:
        TransportError: HOST_KEY_UNKNOWN if a file cannot be read or parsed, because no host can be verified then.
    """
    return _known_hosts(paths, tuple(map(_file_version, paths)))


@lru_cache(maxsize=64)
def _known_hosts(paths: tuple[Path, ...], _changed: tuple[int, ...]) -> asyncssh.SSHKnownHosts:
    try:
        texts = [p.read_text(encoding="utf-8") for p in paths if p.exists()]
        return asyncssh.import_known_hosts("\n".join(texts))
    except (OSError, ValueError) as e:
        raise TransportError(TransportFailure.HOST_KEY_UNKNOWN, f"known_hosts {', '.join(map(str, paths))}: {e}") from e


def _file_version(path: Path) -> int:
    """A cache key that changes with the file; a stat per node is cheap, parsing is not."""
    try:
        found = path.stat()
    except OSError:
        return 0
    return hash((found.st_mtime_ns, found.st_size, found.st_ino))


def has_host_key(hosts: asyncssh.SSHKnownHosts, host: str, port: int) -> bool:
    """Whether a key of this host is known."""
    return any(hosts.match(host, "", None if port == asyncssh.DEFAULT_PORT else port)[:2])
