"""Whether a BMC enforces the roles of its accounts, and logs their use: a change is tried with an account that may only read."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.bmc.event_log import read_log
from clusterctl.model.bmc_report import AccountCheck
from clusterctl_tools.redfish import BmcError, Redfish, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.adapters.bmc.access import BmcAccess
    from clusterctl.adapters.bmc.host_power import BmcLimits
    from clusterctl.model.bmc_report import LogEntry

# DSP0266: for credentials that lack the privilege; 401 is for those that are not accepted, as after a lockout, and shows no roles.
_NO_PRIVILEGE = 403
# Of the request, not of who sends it: a BMC that answers so has let the account through (RFC 9110, RFC 6585).
_ABOUT_THE_REQUEST = frozenset({400, 405, 409, 412, 415, 428})
# Assumed: a log has an entry within a few seconds.
_LOGGED_WITHIN_S, _PAUSE_S = 3.0, 1.0
_ENTRIES = 50


def check_accounts(
    access: BmcAccess, limits: BmcLimits, client: Redfish, system: dict[str, Any], owners: Sequence[dict[str, Any]]
) -> AccountCheck:
    """Try to set the asset tag of `system` to what it is, for which DMTF's base privilege registry (DSP8011) demands ConfigureComponents.

    A BMC that accepts it has changed nothing; where it has no asset tag, the change has no property. `client`, whose account may change things, reads
    the logs of `owners` before and afterwards, and tries the same after a refusal: a BMC that does not let it through, as under a lockdown, shows no roles.

    Raises:
        BmcError: the site names no such account, the BMC lets it read nothing, or a log cannot be read.
    """
    user = access.readonly_user
    if access.readonly_problem:
        raise BmcError(access.readonly_problem)
    if user in ("", access.user):
        raise BmcError("bmc_readonly_user is not set, or is bmc_user: it names an account with the role ReadOnly")
    before = {_identity(e) for e in read_log(client, owners, _ENTRIES)}
    reader = Redfish(replace(access, user=user, password=access.readonly_password), limits.timeout_s, verify=limits.verify)
    path = str(system["@odata.id"])
    try:
        reader.get(path)
    except RefusedError as e:
        raise BmcError(f"{user} may not even read: {e}") from e
    same = {name: system[name] for name in ("AssetTag",) if name in system}
    status, answer = _tried(reader, path, same)
    refused, privileged_answer = {None: False, _NO_PRIVILEGE: True}.get(status), ""
    if refused:
        status, privileged_answer = _tried(client, path, same)
        refused = True if status is None or status in _ABOUT_THE_REQUEST else None
    names_user = re.compile(rf"(?<!\w){re.escape(user)}(?!\w)")
    changed = time.monotonic()
    while True:
        waited_s = time.monotonic() - changed
        new = [e for e in read_log(client, owners, _ENTRIES) if _identity(e) not in before and names_user.search(e.message)]
        if new or waited_s >= _LOGGED_WITHIN_S:
            return AccountCheck(user, refused, answer, privileged_answer, new[0] if new else None)
        time.sleep(_PAUSE_S)


def _tried(account: Redfish, path: str, body: dict[str, Any]) -> tuple[int | None, str]:
    """The HTTP status of the refusal, None if it was accepted; and that for people."""
    try:
        account.patch(path, body)
    except RefusedError as e:
        return e.status, f"HTTP {e.status} {e.message}".rstrip()
    return None, "accepted"


def _identity(entry: LogEntry) -> tuple[str, str, str]:
    return entry.log, entry.id, entry.created
