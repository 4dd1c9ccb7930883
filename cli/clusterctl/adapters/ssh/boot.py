"""Which boot of a node is running, by SSH."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters.ssh.remote_result import TransportError, TransportFailure
from clusterctl.model.power import Boot
from clusterctl_tools.uptime import uptime_s

if TYPE_CHECKING:
    from clusterctl.adapters.ssh.ssh import SshClient
    from clusterctl.model.node import Connection

_FILES = ("/proc/sys/kernel/random/boot_id", "/proc/uptime", "/proc/1/stat")
_LIMIT_BYTES = 16 * 1024
_BOOT_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_MOST_UPTIME_S = 1e10


async def read_boot(client: SshClient, connection: Connection, limit_s: float) -> Boot:
    """The boot id and the uptime of a node, without sudo; the uptime is that of its first process.

    Raises:
        TransportError: SSH does not answer within `limit_s`, or the node does not report it.
        ConfigError: the ssh arguments of the inventory are not supported.
    """
    try:
        async with asyncio.timeout(limit_s):
            session = await client.connect(replace(connection, become=False))
            try:
                result = await session.run(["cat", *_FILES], b"", _LIMIT_BYTES)
            finally:
                session.close()
    except TimeoutError as e:
        raise TransportError(TransportFailure.TIMED_OUT, f"no answer within {limit_s:g} s") from e
    return _parse(result.stdout.decode("utf-8", "replace"))


def _parse(text: str) -> Boot:
    try:
        boot_id, uptime, stat = text.splitlines()[:3]
        boot = Boot(boot_id.strip(), uptime_s(uptime, stat))
    except (ValueError, IndexError, OverflowError):
        boot = None
    if boot is None or not _BOOT_ID.fullmatch(boot.boot_id) or boot.uptime_s >= _MOST_UPTIME_S:
        raise TransportError(TransportFailure.DISCONNECTED, f"the node does not report its boot id: {text[:100]!r}")
    return boot
