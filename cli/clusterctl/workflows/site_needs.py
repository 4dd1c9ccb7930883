"""The checks of `doctor` for what only some sites need: shown where a setting of the site, or its record, requires it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.adapters.job_queue import INSTALL_QUEUE, queue_library
from clusterctl.adapters.programs import command_check, program_check
from clusterctl.adapters.signing import signer
from clusterctl.adapters.ssh.proxy_programs import proxy_programs
from clusterctl.adapters.store.database_urls import without_password
from clusterctl.adapters.store.engine import lacks_file
from clusterctl.adapters.store.queued_racks import has_queued_racks
from clusterctl.adapters.store.readable import require_readable_record
from clusterctl.model.doctor_check import Check
from clusterctl.model.errors import SigningError, StoreError
from clusterctl.model.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterctl.adapters.config import Config
    from clusterctl.model.node import Connection


def site_needs(config: Config, connections: Iterable[Connection]) -> Iterator[Check]:
    """The checks that apply; none where the site needs nothing of its own."""
    if config.signing_key or config.allowed_signers:  # a list of signers alone is for `admit --verify`
        tool = program_check(Program.SSH_KEYGEN, required=config.signing_key is not None)
        yield tool
        yield from _keys(config) if tool.ok else ()
    yield from _record(config.store_url)
    for program in proxy_programs(connections):
        yield command_check(f"ProxyCommand {program}", program, "install it, or correct ansible_ssh_common_args in the inventory")
    for receiver in config.events.receivers:
        if receiver.command:
            hint = "install it, or correct `events:` in clusterctl.yml; until then its events become dead letters"
            yield command_check(f"receiver {receiver.name}", receiver.command[0], hint, required=False)


def _keys(config: Config) -> Iterator[Check]:
    """That the key signs, and that the list is there: `provision` refuses to start without the first, `admit --verify` trusts nothing without the second."""
    if config.signing_key:
        try:
            signer(config.signing_key)
        except SigningError as e:
            yield Check("signing key", ok=False, found=str(e), hint=e.hint)
        else:
            yield Check("signing key", ok=True, found=str(config.signing_key))
    if config.allowed_signers:
        ok = config.allowed_signers.is_file()
        found = str(config.allowed_signers) if ok else f"{config.allowed_signers} is not a file"
        yield Check("allowed signers", ok, found, "correct allowed_signers in clusterctl.yml", required=False)


def _record(url: str) -> Iterator[Check]:
    """Of a record that is there: that it can be read; and the library of the queue, where racks were queued in one on a server."""
    if lacks_file(url):
        return
    try:
        require_readable_record(url)
        queued = has_queued_racks(url) if not url.startswith("sqlite") else False
    except StoreError as e:
        yield Check("record", ok=False, found=str(e), hint=e.hint)
        return
    yield Check("record", ok=True, found=without_password(url))
    if queued:
        found = queue_library()
        yield Check("queue", bool(found), f"procrastinate {found}" if found else "missing", INSTALL_QUEUE)
