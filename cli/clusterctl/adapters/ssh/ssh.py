"""Connections to nodes as their inventory variables say, through shared jump hosts, host keys always checked."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING, Any, Self

import asyncssh

from clusterctl.adapters.ssh import keys, ssh_args
from clusterctl.adapters.ssh.exec import execute
from clusterctl.adapters.ssh.exec_result import Exited, TransportError, Trouble
from clusterctl.adapters.ssh.sudo import Sudo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from clusterctl.model.node import Connection

# 12 ms of CPU against 80 ms for OpenSSH's and asyncssh's own first choices
_CHEAP_KEX = "curve25519-sha256,curve25519-sha256@libssh.org"
# one library call per packet; chacha20-poly1305, asyncssh's first choice, takes several
_CHEAP_CIPHERS = "aes128-gcm@openssh.com,aes256-gcm@openssh.com"
# after the kinds on file: a node with other kinds only then shows its key, instead of hanging up without a word
_ANY_HOST_KEY = "+ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256"
_KEEPALIVE_S = 15


class SshClient:
    """Opens connections; holds those to jump hosts until it is closed."""

    def __init__(self, connect_timeout_s: float = 15.0) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._jumps: dict[object, asyncio.Task[asyncssh.SSHClientConnection]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for task in self._jumps.values():
            task.cancel()
            if task.done() and not task.cancelled() and task.exception() is None:
                task.result().close()
        self._jumps.clear()

    async def connect(self, connection: Connection, become_password: str = "") -> Remote:
        """Connect and log in; `become_password` is for a sudo that asks.

        Raises:
            TransportError: UNREACHABLE, AUTH_FAILED, HOST_KEY_UNKNOWN or HOST_KEY_CHANGED.
            ConfigError: the ssh arguments of the inventory are not understood.
        """
        args = ssh_args.parse_ssh_args(connection.ssh_args)
        paths = (*(ssh_args.user_path(p) for p in [connection.key_path] if p), *args.key_paths)
        through = await self._jump(args, paths, len(args.jumps))
        hosts = keys.known_hosts(args.known_hosts or keys.default_known_hosts()) if args.check_host_key else None
        host, port, user = connection.host, args.port or connection.port, args.user or connection.user
        how: dict[str, Any] = {"host": host, "port": port, "username": user, "tunnel": through, **_login(paths, args.identities_only)}
        if args.config_file:
            how["config"] = [str(args.config_file)]
        if args.host_key_alias:
            how["host_key_alias"] = args.host_key_alias
        if args.proxy_command:
            how["proxy_command"] = _fill(args.proxy_command, {"%h": host, "%p": str(port), "%r": user})
        limit_s = args.connect_timeout_s or self._connect_timeout_s
        opened = await _open(how, args.host_key_alias or host, hosts, limit_s, args.kex)
        return Remote(opened, connection, become_password)

    async def _jump(self, args: ssh_args.SshArgs, paths: tuple[Path, ...], depth: int) -> asyncssh.SSHClientConnection | None:
        """The connection to the last of the first `depth` jump hosts; many nodes share it."""
        if depth == 0:
            return None
        key = (args.jumps[:depth], paths, args.known_hosts)
        task = self._jumps.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() or task.result().is_closed())):
            task = self._jumps[key] = asyncio.create_task(self._open_jump(args, paths, depth))
        try:
            return await asyncio.shield(task)
        except TransportError as e:
            raise TransportError(Trouble.UNREACHABLE, f"jump host {args.jumps[depth - 1].host}: {e.detail}") from e

    async def _open_jump(self, args: ssh_args.SshArgs, paths: tuple[Path, ...], depth: int) -> asyncssh.SSHClientConnection:
        through = await self._jump(args, paths, depth - 1)
        jump = args.jumps[depth - 1]
        how: dict[str, Any] = {"host": jump.host, "port": jump.port, "tunnel": through, **_login(paths, args.identities_only)}
        if jump.user:
            how["username"] = jump.user
        hosts = keys.known_hosts((*args.known_hosts, *keys.default_known_hosts()))
        return await _open(how, jump.host, hosts, args.connect_timeout_s or self._connect_timeout_s, args.kex)


class Remote:
    """A node we are logged in to."""

    def __init__(self, opened: asyncssh.SSHClientConnection, connection: Connection, become_password: str = "") -> None:
        self._opened = opened
        self._connection = connection
        self._become_password = become_password

    async def run(self, argv: Sequence[str], stdin: bytes, limit_bytes: int) -> Exited:
        """Run a command, as root where the inventory says become.

        Raises:
            TransportError: DISCONNECTED or TOO_MUCH_OUTPUT; where sudo has a password, AUTH_FAILED or TIMED_OUT, too.
        """
        if self._connection.by_sudo and self._become_password:
            sudo = Sudo(self._connection.become_user, self._become_password)
            return await execute(self._opened, sudo.command_line(argv), stdin, limit_bytes, sudo)
        return await execute(self._opened, command_line(argv, self._connection), stdin, limit_bytes)

    def close(self) -> None:
        """Hang up at once."""
        self._opened.abort()


def command_line(argv: Sequence[str], connection: Connection) -> str:
    """The remote shell's line where no password is known. sudo never asks (-n); sh in between makes a missing command exit 127, with sudo too."""
    if not connection.by_sudo:
        return shlex.join(argv)
    return shlex.join(["sudo", "-n", "-H", "-u", connection.become_user, "--", "/bin/sh", "-c", 'exec "$@"', "sh", *argv])


async def _open(
    how: Mapping[str, Any], name: str, hosts: asyncssh.SSHKnownHosts | None, limit_s: float, kex: str
) -> asyncssh.SSHClientConnection:
    """Connect within `limit_s`, every way to fail told apart."""
    try:
        async with asyncio.timeout(limit_s):
            return await asyncssh.connect(
                known_hosts=hosts,
                kex_algs=kex or f"^{_CHEAP_KEX}",
                encryption_algs=f"^{_CHEAP_CIPHERS}",
                compression_algs=["none"],
                server_host_key_algs=_ANY_HOST_KEY,
                keepalive_interval=_KEEPALIVE_S,
                **how,
            )
    except TimeoutError as e:
        raise TransportError(Trouble.UNREACHABLE, f"no connection within {limit_s:g} s") from e
    except asyncssh.PermissionDenied as e:
        raise TransportError(Trouble.AUTH_FAILED, str(e.reason)) from e
    except asyncssh.HostKeyNotVerifiable as e:
        raise _host_key(name, how["port"], hosts, e) from e
    except asyncssh.KeyExchangeFailed as e:
        if "host key" in str(e).lower():
            raise _host_key(name, how["port"], hosts, e) from e
        raise TransportError(Trouble.UNREACHABLE, str(e.reason)) from e
    except asyncssh.DisconnectError as e:
        raise TransportError(Trouble.UNREACHABLE, f"the connection broke at login: {e.reason}") from e
    except (OSError, asyncssh.ChannelOpenError) as e:
        raise TransportError(Trouble.UNREACHABLE, _said(e)) from e


def _said(error: Exception) -> str:
    """The system's words without asyncio's around them; resolver errors have numbers below zero and words of their own."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number and number > 0 else getattr(error, "strerror", None) or str(error)


def _host_key(name: str, port: int, hosts: asyncssh.SSHKnownHosts | None, error: asyncssh.DisconnectError) -> TransportError:
    if hosts is not None and keys.is_known(hosts, name, port):
        return TransportError(Trouble.HOST_KEY_CHANGED, f"host key of {name} is not the one in known_hosts: reinstalled, or an impostor")
    return TransportError(Trouble.HOST_KEY_UNKNOWN, f"no host key of {name} in known_hosts ({error.reason})")


def _login(paths: tuple[Path, ...], identities_only: bool) -> dict[str, Any]:
    """Keys only: whoever runs this unattended cannot type a password."""
    chosen = [key for key in map(keys.private_key, paths) if key is not None]
    how: dict[str, Any] = {"preferred_auth": "publickey", "password_auth": False, "kbdint_auth": False, "gss_auth": False, "gss_kex": False}
    if chosen:
        how["client_keys"] = chosen
    if chosen and identities_only:
        how["agent_path"] = None
    return how


def _fill(command: str, values: Mapping[str, str]) -> list[str]:
    """ProxyCommand with its percent signs filled in, split into words: no shell in between."""
    words = shlex.split(command)
    for mark, value in values.items():
        words = [word.replace(mark, value) for word in words]
    return [word.replace("%%", "%") for word in words]
