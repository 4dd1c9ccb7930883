"""Validate one node over SSH: normally one exec; where the bundle is absent, a second one sends it."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

from clusterctl.adapters.ssh.remote_result import TransportError, TransportFailure
from clusterctl.adapters.validators import answer, request

if TYPE_CHECKING:
    from clusterctl.adapters.ssh.remote_result import RemoteResult
    from clusterctl.adapters.ssh.ssh import SshClient, SshSession
    from clusterctl.adapters.validators.bundle import Bundle
    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.become import BecomePassword
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.node import Node


async def validate_over_ssh(
    client: SshClient, node: Node, bundle: Bundle, settings: ValidationSettings, become: BecomePassword | None = None
) -> NodeFindings:
    """The findings of a node, or the reason why it has none; takes at most `settings.node_timeout_s`."""
    began = time.monotonic()
    if become and become.problem:
        return answer.from_transport_error(node.name, TransportError(TransportFailure.AUTH_FAILED, f"become: {become.problem}"), 0.0)
    sent = request.make(node, bundle, settings)
    try:
        async with asyncio.timeout(settings.node_timeout_s):
            exited = await _answer(client, node, bundle, sent, settings=settings, password=become.value if become else "")
    except TimeoutError:
        timeout = TransportError(TransportFailure.TIMED_OUT, f"no answer within {settings.node_timeout_s:g} s")
        return answer.from_transport_error(node.name, timeout, time.monotonic() - began)
    except TransportError as e:
        return answer.from_transport_error(node.name, e, time.monotonic() - began)
    return answer.from_exit(sent, exited, time.monotonic() - began)


async def _answer(
    client: SshClient, node: Node, bundle: Bundle, sent: request.BundleRequest, *, settings: ValidationSettings, password: str
) -> RemoteResult:
    """What the node sends; one lost connection does not make it unreachable.

    Raises:
        TransportError: there is no answer.
    """
    ends = time.monotonic() + settings.node_timeout_s
    for pause_s in (*settings.pauses_s, math.inf):
        try:
            remote = await client.connect(node.connection, password)
            try:
                return await _run_bundle(remote, node.connection.python, bundle, sent)
            finally:
                remote.close()
        except TransportError as e:
            if not e.may_pass or time.monotonic() + pause_s >= ends:
                raise
        await asyncio.sleep(pause_s)
    raise AssertionError("the last attempt returns or raises")


async def _run_bundle(remote: SshSession, python: str, bundle: Bundle, sent: request.BundleRequest) -> RemoteResult:
    start = request.launcher_source()
    exited = await remote.run(request.bundle_command("run", bundle, python), start + sent.body, answer.LIMIT_BYTES)
    if answer.bundle_is_absent(exited):
        with_bundle = start + bundle.read() + sent.body
        exited = await remote.run(request.bundle_command("push", bundle, python), with_bundle, answer.LIMIT_BYTES)
    return exited
