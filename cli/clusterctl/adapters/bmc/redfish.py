"""A Redfish client on urllib: follows links, verifies certificates and sends the password to one host only."""

from __future__ import annotations

import base64
import json
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.adapters.bmc.access import BmcAccess

_NOT_FOUND = 404
_LIMIT_BYTES = 32 * 1024 * 1024
# An action is answered when it is accepted; some BMCs accept a reset only after seconds (assumed).
_ACTION_S = 60.0


class BmcError(Exception):
    """A BMC cannot be queried, or its answer lacks what is needed."""


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, which would send the password to another host."""

    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect."""
        return


@dataclass(slots=True)
class Redfish:
    """The Redfish service of one BMC; `timeout_s` is the limit of each request."""

    access: BmcAccess
    timeout_s: float
    verify: bool = True
    _opener: OpenerDirector = field(init=False)
    _headers: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        url = urlsplit(self.access.url)
        if url.scheme != "https" or not url.netloc or "@" in url.netloc:
            raise BmcError("bmc_url is not https://HOST")
        try:
            context = ssl.create_default_context(cafile=self.access.ca_file or None)
        except OSError as e:
            raise BmcError(f"bmc_ca_file {self.access.ca_file}: {e.strerror or e}") from e
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._opener = build_opener(HTTPSHandler(context=context), _NoRedirects, ProxyHandler({}))
        token = base64.b64encode(f"{self.access.user}:{self.access.password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Accept": "application/json"}

    def get(self, path: str) -> dict[str, Any]:
        """A resource; {} if it does not exist.

        Raises:
            BmcError: the resource cannot be read, or the path leads to another host.
        """
        try:
            data = json.loads(self._send(Request(self._url(path), headers=self._headers), self.timeout_s))  # noqa: S310 https only
        except HTTPError as e:
            e.close()
            if e.code == _NOT_FOUND:
                return {}
            raise BmcError(f"{path}: HTTP {e.code} {e.reason}") from e
        except ValueError as e:
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
        request = Request(self._url(path), json.dumps(body).encode(), headers, method="POST")  # noqa: S310 https only
        try:
            self._send(request, max(self.timeout_s, _ACTION_S))
        except HTTPError as e:
            with e:
                message = _message(e.read(_LIMIT_BYTES))
            raise BmcError(f"{path}: HTTP {e.code} {message or e.reason}") from e

    def _url(self, path: str) -> str:
        if not path.startswith("/") or path.startswith("//"):
            raise BmcError(f"a link leads to another host: {path}")
        return self.access.url.rstrip("/") + path

    def _send(self, request: Request, limit_s: float) -> bytes:
        try:
            with self._opener.open(request, timeout=limit_s) as response:
                data: bytes = response.read(_LIMIT_BYTES)
        except HTTPError:
            raise
        except URLError as e:
            raise BmcError(f"cannot be reached: {e.reason}") from e
        except OSError as e:
            raise BmcError(f"cannot be reached: {e.strerror or e}") from e
        return data

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
            yield from (m for m in page.get("Members") or [] if isinstance(m, dict))
            path = str(page.get("Members@odata.nextLink") or "")


def link(resource: dict[str, Any], *names: str) -> str:
    """The `@odata.id` of a nested property; empty if there is none."""
    value: Any = resource
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return str(value.get("@odata.id") or "") if isinstance(value, dict) else ""


def _message(body: bytes) -> str:
    """What an error document says; empty if it is none."""
    try:
        error = json.loads(body)["error"]
        more = error.get("@Message.ExtendedInfo") or [{}]
        return str(more[0].get("Message") or error.get("message") or "")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return ""
