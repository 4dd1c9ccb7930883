"""A fake node: an asyncssh server on loopback, in a thread of this process, with a given behaviour."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import asyncssh

from clusterctl.model.node import Connection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from types import TracebackType

    Process = asyncssh.SSHServerProcess[bytes]
    Behaviour = Callable[[Process], Awaitable[None]]


class _Server(asyncssh.SSHServer):
    """Accepts one key, and forwards connections like a jump host."""

    def __init__(self, node: SshNode) -> None:
        self._node = node

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._node.connections += 1

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == "root" and key == self._node.user_key.convert_to_public()

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        if not self._node.forwards:  # as sshd with AllowTcpForwarding no (serverloop.c: server_input_channel_open)
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "open failed")
        return True


@dataclass
class SshNode:
    """A context manager; `behaviour` handles each exec; `forwards`: connections to others, as a jump host."""

    folder: Path
    behaviour: Behaviour
    host_key: asyncssh.SSHKey = field(default_factory=lambda: asyncssh.generate_private_key("ssh-ed25519"))
    user_key: asyncssh.SSHKey = field(default_factory=lambda: asyncssh.generate_private_key("ssh-ed25519"))
    connections: int = 0
    address: str = "127.0.0.1"
    forwards: bool = True
    port: int = 0
    commands: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.user_key.write_private_key(self.folder / "key")
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)
        self.write_known_hosts(self.host_key)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve(started))
        self._loop.close()

    async def _serve(self, started: threading.Event) -> None:
        self._stopped = asyncio.Event()
        server = await asyncssh.listen(
            self.address,
            self.port,
            server_factory=lambda: _Server(self),
            server_host_keys=[self.host_key],
            process_factory=self._handle,
            encoding=None,
        )
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stopped.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

    async def _handle(self, process: Process) -> None:
        self.commands.append(process.command or "")
        try:
            await self.behaviour(process)
        except (asyncssh.Error, OSError):
            process.close()

    def write_known_hosts(self, key: asyncssh.SSHKey) -> None:
        line = f"[{self.address}]:{self.port} {key.export_public_key().decode().strip()}\n"
        (self.folder / "known_hosts").write_text(line)

    def connection(self, *ssh_args: str, **changes: object) -> Connection:
        """The connection variables of the node, with additional `ssh_args`."""
        args = ("-o", f"UserKnownHostsFile={self.folder}/known_hosts", *ssh_args)
        values = {"host": self.address, "port": self.port, "user": "root", "key_path": str(self.folder / "key"), "ssh_args": args}
        return Connection(**{**values, **changes})  # type: ignore[arg-type]

    def write_site(self, folder: Path, **variables: object) -> Path:
        """Write an inventory layer with this node as `n1`."""
        folder.mkdir(exist_ok=True)
        host_vars = {
            "ansible_host": self.address,
            "ansible_port": self.port,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.folder / "key"),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self.folder}/known_hosts",
            **variables,
        }
        (folder / "hosts.json").write_text(json.dumps({"profile_hgx_h100_ib": {"hosts": {"n1": host_vars}}}))
        return folder
