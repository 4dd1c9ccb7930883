"""SSH connections as the inventory variables of a node declare them, through shared jump hosts."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING, Any, Self

import asyncssh
from asyncssh.kex import get_kex_algs
from asyncssh.public_key import get_public_key_algs

from clusterctl.adapters.ssh import keys, ssh_args
from clusterctl.adapters.ssh.remote_command import execute
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.adapters.ssh.sudo import Sudo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from clusterctl.adapters.ssh.remote_command import OnData
    from clusterctl.model.node import Connection

# 12 ms of CPU, instead of 80 ms for the first choice of OpenSSH and asyncssh
_CHEAP_KEX = "curve25519-sha256,curve25519-sha256@libssh.org"
# one library call per packet; chacha20-poly1305, the first choice of asyncssh, needs several
_CHEAP_CIPHERS = "aes128-gcm@openssh.com,aes256-gcm@openssh.com"
# added after the key types in known_hosts: a node that only has other types then shows its key instead of closing the connection
_ANY_HOST_KEY = "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256"
_KEEPALIVE_S = 15


class SshClient:
    """Opens connections; keeps those to jump hosts until it is closed."""

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

    async def connect(self, connection: Connection, become_password: str = "") -> SshSession:
        """Connect and log in; `become_password` answers the prompt of sudo.

        Raises:
            TransportError: UNREACHABLE, AUTH_FAILED, HOST_KEY_UNKNOWN or HOST_KEY_CHANGED.
            ConfigError: the ssh arguments of the inventory are not supported.
        """
        args = ssh_args.parse_ssh_args(connection.ssh_args)
        paths = (*(ssh_args.user_path(p) for p in [connection.key_path] if p), *args.key_paths)
        through = await self._jump(args, paths, len(args.jumps))
        hosts = keys.known_hosts(args.known_hosts or keys.default_known_hosts()) if args.check_host_key else None
        host, port, user = connection.host, args.port or connection.port, args.user or connection.user
        options: dict[str, Any] = {"host": host, "port": port, "username": user, "tunnel": through}
        options |= _login_options(paths, args.identities_only)
        if args.config_file:
            options["config"] = [str(args.config_file)]
        if args.host_key_alias:
            options["host_key_alias"] = args.host_key_alias
        if args.proxy_command:
            options["proxy_command"] = _fill_proxy_command(args.proxy_command, {"%h": host, "%p": str(port), "%r": user})
        limit_s = args.connect_timeout_s or self._connect_timeout_s
        try:
            opened = await _open(options, args.host_key_alias or host, hosts, limit_s, args.kex)
        except TransportError as e:
            raise _named_jump(e, args) from e.__cause__
        return SshSession(opened, connection, become_password)

    async def _jump(self, args: ssh_args.SshArgs, paths: tuple[Path, ...], depth: int) -> asyncssh.SSHClientConnection | None:
        """The connection to the last of the first `depth` jump hosts; nodes share it."""
        if depth == 0:
            return None
        key = (args.jumps[:depth], paths, args.known_hosts)
        task = self._jumps.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() or task.result().is_closed())):
            task = self._jumps[key] = asyncio.create_task(self._open_jump(args, paths, depth))
        try:
            return await asyncio.shield(task)
        except TransportError as e:
            detail = f"jump host {args.jumps[depth - 1].host}: {e.detail}"
            raise TransportError(TransportFailure.UNREACHABLE, detail, may_pass=e.may_pass) from e

    async def _open_jump(self, args: ssh_args.SshArgs, paths: tuple[Path, ...], depth: int) -> asyncssh.SSHClientConnection:
        through = await self._jump(args, paths, depth - 1)
        jump = args.jumps[depth - 1]
        options: dict[str, Any] = {"host": jump.host, "port": jump.port, "tunnel": through, **_login_options(paths, args.identities_only)}
        if jump.user:
            options["username"] = jump.user
        hosts = keys.known_hosts((*args.known_hosts, *keys.default_known_hosts()))
        return await _open(options, jump.host, hosts, args.connect_timeout_s or self._connect_timeout_s, args.kex)


class SshSession:
    """A logged-in connection to a node."""

    def __init__(self, opened: asyncssh.SSHClientConnection, connection: Connection, become_password: str = "") -> None:
        self._opened = opened
        self._connection = connection
        self._become_password = become_password

    async def run(self, argv: Sequence[str], stdin: bytes, limit_bytes: int, on_data: OnData | None = None) -> RemoteResult:
        """Run a command, through sudo if the inventory declares become; `on_data` as in `execute`.

        Raises:
            TransportError: DISCONNECTED or TOO_MUCH_OUTPUT; with a password for sudo also AUTH_FAILED or TIMED_OUT.
        """
        if self._connection.by_sudo and self._become_password:
            sudo = Sudo(self._connection.become_user, self._become_password)
            return await execute(self._opened, sudo.command_line(argv), stdin, limit_bytes, sudo=sudo, on_data=on_data)
        return await execute(self._opened, command_line(argv, self._connection), stdin, limit_bytes, on_data=on_data)

    def close(self) -> None:
        """Close the connection immediately."""
        self._opened.abort()


def command_line(argv: Sequence[str], connection: Connection) -> str:
    """The command line for the remote shell, without a password: sudo -n never prompts, and sh makes a missing command exit with 127."""
    if not connection.by_sudo:
        return shlex.join(argv)
    return shlex.join(["sudo", "-n", "-H", "-u", connection.become_user, "--", "/bin/sh", "-c", 'exec "$@"', "sh", *argv])


async def _open(
    options: Mapping[str, Any], name: str, hosts: asyncssh.SSHKnownHosts | None, limit_s: float, kex: str
) -> asyncssh.SSHClientConnection:
    """Connect within `limit_s`; each kind of failure has its own TransportFailure."""
    try:
        async with asyncio.timeout(limit_s):
            return await asyncssh.connect(
                known_hosts=hosts,
                kex_algs=kex or _known("^", _CHEAP_KEX, get_kex_algs()),
                encryption_algs=f"^{_CHEAP_CIPHERS}",
                compression_algs=["none"],
                server_host_key_algs=_known("+", _ANY_HOST_KEY, get_public_key_algs()),
                keepalive_interval=_KEEPALIVE_S,
                **options,
            )
    except TimeoutError as e:
        raise TransportError(TransportFailure.UNREACHABLE, f"no connection within {limit_s:g} s") from e
    except asyncssh.PermissionDenied as e:
        raise TransportError(TransportFailure.AUTH_FAILED, str(e.reason)) from e
    except asyncssh.HostKeyNotVerifiable as e:
        raise _host_key_error(name, options["port"], hosts, e) from e
    except asyncssh.KeyExchangeFailed as e:
        if "host key" in str(e).lower():
            raise _host_key_error(name, options["port"], hosts, e) from e
        raise TransportError(TransportFailure.UNREACHABLE, str(e.reason)) from e
    except asyncssh.DisconnectError as e:
        raise TransportError(TransportFailure.UNREACHABLE, f"the connection was lost during login: {e.reason}", may_pass=True) from e
    except (OSError, asyncssh.ChannelOpenError) as e:
        raise TransportError(TransportFailure.UNREACHABLE, _system_message(e), may_pass=_is_broken_off(e)) from e


def _known(sign: str, names: str, known: Sequence[bytes]) -> str:
    """The algorithms of `names` that this controller has: asyncssh refuses the name of one that is absent, as X25519 is in FIPS mode."""
    chosen = [name for name in names.split(",") if name.encode() in known]
    return sign + ",".join(chosen) if chosen else "default"


def _named_jump(error: TransportError, args: ssh_args.SshArgs) -> TransportError:
    """The error of a connection through jump hosts, which has to name the one that forwards nothing: the node itself is in order."""
    cause = error.__cause__
    if not args.jumps or not isinstance(cause, asyncssh.ChannelOpenError) or cause.code != asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED:
        return error
    why = f"jump host {args.jumps[-1].host} does not forward connections (AllowTcpForwarding or PermitOpen of its sshd): {error.detail}"
    return TransportError(error.failure, why)


def _system_message(error: Exception) -> str:
    """The error message of the system, without the text that asyncio adds; resolver errors have negative numbers and their own messages."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number and number > 0 else getattr(error, "strerror", None) or str(error)


def _is_broken_off(error: Exception) -> bool:
    """Whether the host answered, and did not go on. A channel that a jump host does not open proves neither: its node may be dead."""
    return isinstance(error, (ConnectionRefusedError, ConnectionResetError, BrokenPipeError))


def _host_key_error(name: str, port: int, hosts: asyncssh.SSHKnownHosts | None, error: asyncssh.DisconnectError) -> TransportError:
    if hosts is not None and keys.has_host_key(hosts, name, port):
        return TransportError(
            TransportFailure.HOST_KEY_CHANGED,
            f"the host key of {name} differs from known_hosts: the node was reinstalled, or another host answers",
        )
    return TransportError(TransportFailure.HOST_KEY_UNKNOWN, f"known_hosts has no host key of {name} ({error.reason})")


def _login_options(paths: tuple[Path, ...], identities_only: bool) -> dict[str, Any]:
    """Public keys only, because an unattended run cannot enter a password."""
    chosen = [key for key in map(keys.private_key, paths) if key is not None]
    options: dict[str, Any] = {"preferred_auth": "publickey"} | dict.fromkeys(
        ("password_auth", "kbdint_auth", "gss_auth", "gss_kex"), False
    )
    if chosen:
        options["client_keys"] = chosen
    if chosen and identities_only:
        options["agent_path"] = None
    return options


def _fill_proxy_command(command: str, values: Mapping[str, str]) -> list[str]:
    """ProxyCommand as a list of words, with its placeholders replaced; no shell is involved."""
    words = shlex.split(command)
    for placeholder, value in values.items():
        words = [word.replace(placeholder, value) for word in words]
    return [word.replace("%%", "%") for word in words]
