"""Redfish: the HTTPS service of a BMC. It follows links, verifies certificates and sends the password to one host only.

The standard library serves, not a Redfish library: those bring requests to every controller that runs the collection, and requests limits neither
the time of a whole exchange nor the size of an answer. A proxy of the environment is not used: a BMC is in the controller's own networks.
"""

import base64
import contextlib
import functools
import json
import socket
import ssl
import time
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from threading import Event, Timer
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional
from typing import Protocol as TypingProtocol
from urllib.parse import urlsplit

ROOT = "/redfish/v1/"
_OK, _REDIRECTS, _NOT_FOUND, _BUSY = 200, 300, 404, 503
_NO_ACCOUNT = (401, 403)
_LIMIT_BYTES = 32 * 1024 * 1024
# A BMC that is starting or busy answers 503; a read is repeated, a change is not.
_TRIES = 3
_RETRY_S = 1.0
_MOST_RETRY_S = 5.0
# An action is answered when it is accepted; some BMCs accept a reset only after seconds (assumed).
_ACTION_S = 60.0
# All requests to one BMC together: an HGX baseboard has hundreds of sensors, each a request of its own (assumed).
_SESSION_S = 600.0

Resource = Dict[str, Any]
Get = Callable[[str], Mapping[str, Any]]


class BmcError(Exception):
    """A BMC cannot be queried, or its answer lacks what is needed."""


class RefusedError(BmcError):
    """The BMC refused a request.

    Attributes:
        status: of HTTP.
        message: the BMC's own explanation.
    """

    def __init__(self, path: str, status: int, message: str) -> None:
        super().__init__("{}: HTTP {} {}".format(path, status, message))
        self.status, self.message = status, message


class Login(TypingProtocol):
    """How to reach a BMC; `ca_file`: PEM file of the authority that signed its certificate, empty for those that the controller trusts."""

    @property
    def url(self) -> str:
        """`https://HOST`."""

    @property
    def user(self) -> str:
        """A user of the BMC."""

    @property
    def password(self) -> str:
        """It is sent to this host only."""

    @property
    def ca_file(self) -> str:
        """A path, or empty."""


class UnreachableError(BmcError):
    """There was no whole answer in time: the next request would wait as long."""


@dataclass(frozen=True)
class BmcRequest:
    """What is sent; `body` is empty for a GET."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class BmcAnswer:
    """What came back; redirects are not followed, because they would send the password to another host. Names of `headers` are in lower case."""

    status: int
    reason: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def exchange(host: str, context: ssl.SSLContext, request: BmcRequest, limit_s: float) -> BmcAnswer:
    """Send one request to `host` (`NAME` or `NAME:PORT`) on a connection of its own.

    The limit is that of the whole exchange: connection, handshake, headers and body. A socket's own limit starts again with each byte, so a server
    that sends one byte every two seconds would never reach it.

    Raises:
        BmcError: there is no whole answer of at most 32 MiB within `limit_s`.
    """
    try:
        connection = HTTPSConnection(host, timeout=limit_s, context=context)
    except HTTPException as e:
        raise BmcError("bmc_url is not https://HOST") from e
    with _hung_up_after(connection, limit_s) as late:
        try:
            connection.request(request.method, request.path, request.body or None, {**request.headers, "Connection": "close"})
            response = connection.getresponse()
            body = response.read(_LIMIT_BYTES + 1)
            missing = response.length or 0
        except (HTTPException, OSError, ValueError) as e:
            if late.is_set() or isinstance(e, (TimeoutError, socket.timeout)):
                raise UnreachableError("cannot be reached: no whole answer within {:g} s".format(limit_s)) from e
            raise UnreachableError("cannot be reached: {}".format(_why(e))) from e
    if late.is_set():
        raise UnreachableError("cannot be reached: no whole answer within {:g} s".format(limit_s))
    if len(body) > _LIMIT_BYTES:
        raise BmcError("{}: the answer is larger than {} bytes".format(request.path, _LIMIT_BYTES))
    if missing:
        raise BmcError("{}: the answer ended {} bytes too early".format(request.path, missing))
    return BmcAnswer(response.status, response.reason, body, {name.lower(): value for name, value in response.getheaders()})


@contextlib.contextmanager
def _hung_up_after(connection: HTTPSConnection, limit_s: float) -> Iterator[Event]:
    late = Event()

    def hang_up() -> None:
        late.set()
        with contextlib.suppress(OSError, AttributeError):
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = Timer(limit_s, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        connection.close()


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror or error)
    return "it breaks off its answer, or sends no HTTP ({})".format(type(error).__name__)


@contextlib.contextmanager
def well_formed() -> Iterator[None]:
    """The border to what a BMC sends: an answer of another form than Redfish's is an error of this BMC, not of the run.

    Raises:
        BmcError: a value has another type than its schema, or a property is missing.
    """
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as e:
        raise BmcError("an answer has another form than Redfish's ({}: {})".format(type(e).__name__, str(e)[:120])) from e


@dataclass
class Redfish:
    """The Redfish service of one BMC; `timeout_s` is the limit of each request, ten minutes that of all of them."""

    login: Login
    timeout_s: float
    verify: bool = True
    _host: str = field(init=False)
    _root: str = field(init=False)
    _context: ssl.SSLContext = field(init=False, repr=False)
    _headers: Dict[str, str] = field(init=False, repr=False)
    _end: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        with well_formed():
            url = urlsplit(self.login.url)
        if url.scheme != "https" or not url.netloc or "@" in url.netloc:
            raise BmcError("bmc_url is not https://HOST")
        try:
            changed_at = Path(self.login.ca_file).stat().st_mtime_ns if self.login.ca_file else 0
            self._context = _context(self.login.ca_file, self.verify, changed_at)
        except OSError as e:
            raise BmcError("bmc_ca_file {}: {}".format(self.login.ca_file, e.strerror or e)) from e
        self._host, self._root = url.netloc, url.path.rstrip("/")
        token = base64.b64encode("{}:{}".format(self.login.user, self.login.password).encode()).decode()
        self._headers = {"Authorization": "Basic " + token, "Accept": "application/json"}
        self._end = time.monotonic() + _SESSION_S

    def get(self, path: str) -> Resource:
        """A resource, with its ETag as `@odata.etag` also where only the header has it; {} if it does not exist. 503 is tried again.

        Raises:
            BmcError: the resource cannot be read, or the path leads to another host.
        """
        request = BmcRequest("GET", self._root + local(path), self._headers)
        answer = self._send(request, self.timeout_s)
        for _ in range(_TRIES - 1):
            if answer.status != _BUSY:
                break
            time.sleep(_pause_s(answer))
            answer = self._send(request, self.timeout_s)
        if answer.status == _NOT_FOUND:
            return {}
        _accepted(path, answer)
        try:
            data = json.loads(answer.body)
        except (ValueError, RecursionError) as e:
            raise BmcError("{}: the answer is not JSON".format(path)) from e
        if not isinstance(data, dict):
            raise BmcError("{}: the answer is not a JSON object".format(path))
        if answer.headers.get("etag"):
            data.setdefault("@odata.etag", answer.headers["etag"])
        return data

    def linked(self, path: str) -> Resource:
        """A resource that another one links to, so that its absence is an error of the BMC, and not an empty resource.

        Raises:
            BmcError: as `get`, and for a resource that does not exist.
        """
        found = self.get(path)
        if not found:
            raise RefusedError(path, _NOT_FOUND, "although it is linked")
        return found

    def answers_without_account(self, path: str) -> Optional[bool]:
        """Whether it lists a collection to everybody, which it must not (DSP0266, "Authentication"); None if neither is seen, for whatever reason."""
        try:
            answer = self._send(BmcRequest("GET", self._root + local(path), {"Accept": "application/json"}), self.timeout_s)
            if answer.status in _NO_ACCOUNT:
                return False
            return True if answer.status == _OK and "Members" in dict(json.loads(answer.body)) else None
        except (BmcError, TypeError, ValueError, RecursionError):
            return None

    def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Run an action.

        Raises:
            RefusedError: the BMC refuses it.
            BmcError: the BMC cannot be reached.
        """
        self._change("POST", path, body, {}, max(self.timeout_s, _ACTION_S))

    def patch(self, path: str, body: Mapping[str, Any], etag: str = "*") -> None:
        """Write properties of a resource that has not changed since it had this ETag; `*`: of any.

        Raises:
            RefusedError: the BMC refuses it; status 412 if the resource has changed.
            BmcError: the BMC cannot be reached.
        """
        self._change("PATCH", path, body, {"If-Match": etag}, self.timeout_s)

    def members(self, path: str) -> Iterator[str]:
        """The paths in a collection, from all of its pages. Raises BmcError as `entries`."""
        return members(self.get, path)

    def entries(self, path: str) -> Iterator[Resource]:
        """The members of a collection as its pages have them: whole resources (logs mostly are), or only their links.

        Raises:
            BmcError: a page cannot be read, or a page links back to an earlier one.
        """
        return entries(self.get, path)

    def _change(self, method: str, path: str, body: Mapping[str, Any], headers: Mapping[str, str], limit_s: float) -> None:
        all_headers = {**self._headers, **headers, "Content-Type": "application/json"}
        _accepted(path, self._send(BmcRequest(method, self._root + local(path), all_headers, json.dumps(body).encode()), limit_s))

    def _send(self, request: BmcRequest, limit_s: float) -> BmcAnswer:
        left_s = self._end - time.monotonic()
        if left_s <= 0:
            raise UnreachableError("its answers took more than {:g} s together".format(_SESSION_S))
        return exchange(self._host, self._context, request, min(limit_s, left_s))


@functools.lru_cache(maxsize=None)
def _context(ca_file: str, verify: bool, _changed_at: int) -> ssl.SSLContext:
    """Shared by the BMCs of a run: to load the authorities of a controller takes 30 ms. A file that was replaced is read again."""
    context = ssl.create_default_context(cafile=ca_file or None)
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def local(path: str) -> str:
    """The unchanged path. Raises BmcError if it leads to another host, which must not get the password."""
    if not path.startswith("/") or path.startswith("//"):
        raise BmcError("a link leads to another host: {}".format(path))
    return path


def link(resource: Mapping[str, Any], *names: str) -> str:
    """The `@odata.id` of a nested property; empty if there is none."""
    value: Any = resource
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return str(value.get("@odata.id") or "") if isinstance(value, dict) else ""


def entries(get: Get, path: str) -> Iterator[Resource]:
    """The members of a collection as its pages have them.

    Raises:
        BmcError: a page cannot be read, is not a collection, or links back to an earlier one.
    """
    seen = set()
    while path:
        if path in seen:
            raise BmcError("the pages of the collection form a loop at {}".format(path))
        seen.add(path)
        page = get(local(path))
        found = page.get("Members") or []
        if not isinstance(found, list):
            raise BmcError("{}: Members is not a list".format(path))
        yield from (m for m in found if isinstance(m, dict))
        path = str(page.get("Members@odata.nextLink") or "")


def members(get: Get, path: str) -> Iterator[str]:
    """The paths in a collection, from all of its pages. Raises BmcError as `entries`."""
    yield from (str(m["@odata.id"]) for m in entries(get, path) if m.get("@odata.id"))


def root_link(root: Mapping[str, Any], name: str) -> str:
    """The path of a resource of the service root, also where the root does not link it: its place is fixed (DSP0266, "URI patterns").

    A DGX H100 may have none there until its BMC is reset (NVIDIA/nv-redfish 7ac2181, bmc_quirks.rs).
    """
    return link(root, name) or ROOT + name


def last_segment(path: str) -> str:
    """What names a resource in its collection; some BMCs end their paths with a slash (HPE)."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def one_system(
    get: Get, root: Mapping[str, Any], system_id: str, matches: Callable[[Resource], bool], *, what: str, setting: str
) -> Resource:
    """The system that `matches`; `system_id` chooses among several. An HGX machine has two: the server, and the baseboard of its GPUs.

    Args:
        get: reads a path of the service.
        root: the service root.
        system_id: the Id of the system; empty if there is only one.
        matches: whether a system is of the kind that is needed.
        what: that kind, for the error: `a BIOS`.
        setting: the variable that chooses the system, for the error; empty if there is none.

    Raises:
        BmcError: it is not exactly one.
    """
    systems = [dict(get(path)) for path in members(get, root_link(root, "Systems"))]
    found = [s for s in systems if matches(s) and system_id in ("", s.get("Id"))]
    if len(found) != 1:
        ids = ", ".join(str(s.get("Id")) for s in systems) or "none"
        choice = "; set {}".format(setting) if setting else ""
        raise BmcError("{} systems with {} among: {}{}".format(len(found) or "no", what, ids, choice))
    return found[0]


def _accepted(path: str, answer: BmcAnswer) -> None:
    if not _OK <= answer.status < _REDIRECTS:
        raise RefusedError(path, answer.status, _message(answer.body) or answer.reason)


def _pause_s(answer: BmcAnswer) -> float:
    """The pause that the BMC requests in seconds, within five; a date, or nothing, is one second."""
    retry_after = answer.headers.get("retry-after", "")
    return min(float(retry_after), _MOST_RETRY_S) if retry_after.isdecimal() else _RETRY_S


def _message(body: bytes) -> str:
    """The messages of an error document; empty if it has none."""
    try:
        error = json.loads(body)["error"]
        more = error.get("@Message.ExtendedInfo") or []
        texts: List[str] = [str(m.get("Message") or m.get("MessageId") or "") for m in more]
        return "; ".join(filter(None, texts)) or str(error.get("message") or "")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return ""
