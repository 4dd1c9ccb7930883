"""A Redfish client: follows links, verifies certificates and sends the password to one host only."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import ssl
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clusterctl.adapters.bmc.exchange import BmcAnswer, BmcError, BmcRequest, exchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.adapters.bmc.access import BmcAccess

_OK, _REDIRECTS, _NOT_FOUND = 200, 300, 404
# An action is answered when it is accepted; some BMCs accept a reset only after seconds (assumed).
_ACTION_S = 60.0
# All requests to one BMC together: an HGX baseboard has hundreds of sensors, each a request of its own (assumed).
_SESSION_S = 600.0


@contextlib.contextmanager
def well_formed() -> Iterator[None]:
    """The border to what a BMC sends: an answer of another form than Redfish's is an error of this BMC, not of the run.

    Raises:
        BmcError: a value has another type than its schema, or a property is missing.
    """
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as e:
        raise BmcError(f"an answer has another form than Redfish's ({type(e).__name__}: {str(e)[:120]})") from e


@dataclass(slots=True)
class Redfish:
    """The Redfish service of one BMC; `timeout_s` is the limit of each request, ten minutes that of all of them."""

    access: BmcAccess
    timeout_s: float
    verify: bool = True
    _host: str = field(init=False)
    _root: str = field(init=False)
    _context: ssl.SSLContext = field(init=False, repr=False)
    _headers: dict[str, str] = field(init=False, repr=False)
    _end: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        with well_formed():
            url = urlsplit(self.access.url)
        if url.scheme != "https" or not url.netloc or "@" in url.netloc:
            raise BmcError("bmc_url is not https://HOST")
        try:
            self._context = _context(self.access.ca_file, self.verify)
        except OSError as e:
            raise BmcError(f"bmc_ca_file {self.access.ca_file}: {e.strerror or e}") from e
        self._host, self._root = url.netloc, url.path.rstrip("/")
        token = base64.b64encode(f"{self.access.user}:{self.access.password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Accept": "application/json"}
        self._end = time.monotonic() + _SESSION_S

    def get(self, path: str) -> dict[str, Any]:
        """A resource; {} if it does not exist.

        Raises:
            BmcError: the resource cannot be read, or the path leads to another host.
        """
        answer = self._send(BmcRequest("GET", self._target(path), self._headers), self.timeout_s)
        if answer.status == _NOT_FOUND:
            return {}
        if not _OK <= answer.status < _REDIRECTS:
            raise BmcError(f"{path}: HTTP {answer.status} {answer.reason}")
        try:
            data = json.loads(answer.body)
        except (ValueError, RecursionError) as e:
            raise BmcError(f"{path}: the answer is not JSON") from e
        if not isinstance(data, dict):
            raise BmcError(f"{path}: the answer is not a JSON object")
        return data

    def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Run an action.

        Raises:
            BmcError: the BMC refuses it (the text has its message), or cannot be reached.
        """
        headers = {**self._headers, "Content-Type": "application/json"}
        answer = self._send(BmcRequest("POST", self._target(path), headers, json.dumps(body).encode()), max(self.timeout_s, _ACTION_S))
        if not _OK <= answer.status < _REDIRECTS:
            raise BmcError(f"{path}: HTTP {answer.status} {_message(answer.body) or answer.reason}")

    def _target(self, path: str) -> str:
        if not path.startswith("/") or path.startswith("//"):
            raise BmcError(f"a link leads to another host: {path}")
        return self._root + path

    def _send(self, request: BmcRequest, limit_s: float) -> BmcAnswer:
        left_s = self._end - time.monotonic()
        if left_s <= 0:
            raise BmcError(f"its answers took more than {_SESSION_S:g} s together")
        return exchange(self._host, self._context, request, min(limit_s, left_s))

    def members(self, path: str) -> Iterator[str]:
        """The paths in a collection, from all of its pages.

        Raises:
            BmcError: a page cannot be read, or a page links back to an earlier one.
        """
        yield from (str(m["@odata.id"]) for m in self.entries(path) if m.get("@odata.id"))

    def entries(self, path: str) -> Iterator[dict[str, Any]]:
        """The members of a collection as its pages have them: whole resources (logs mostly are), or only their links.

        Raises:
            BmcError: a page cannot be read, or a page links back to an earlier one.
        """
        seen: set[str] = set()
        while path:
            if path in seen:
                raise BmcError(f"the pages of the collection form a loop at {path}")
            seen.add(path)
            page = self.get(path)
            members = page.get("Members") or []
            if not isinstance(members, list):
                raise BmcError(f"{path}: Members is not a list")
            yield from (m for m in members if isinstance(m, dict))
            path = str(page.get("Members@odata.nextLink") or "")


@functools.cache
def _context(ca_file: str, verify: bool) -> ssl.SSLContext:
    """Shared by the BMCs of a run: to load the authorities of a controller takes 30 ms."""
    context = ssl.create_default_context(cafile=ca_file or None)
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def link(resource: dict[str, Any], *names: str) -> str:
    """The `@odata.id` of a nested property; empty if there is none."""
    value: Any = resource
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return str(value.get("@odata.id") or "") if isinstance(value, dict) else ""


def _message(body: bytes) -> str:
    """The message of an error document; empty if it has none."""
    try:
        error = json.loads(body)["error"]
        more = error.get("@Message.ExtendedInfo") or [{}]
        return str(more[0].get("Message") or error.get("message") or "")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return ""
