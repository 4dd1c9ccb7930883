"""HTTP requests to one BMC: login, GET of resources, PATCH of BIOS and boot settings, POST of a reset; the rules of HTTP are those of DSP0266."""

from __future__ import annotations

import base64
import binascii
import json
import logging
import threading
import time
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, ClassVar

from clusterctl.model.errors import LabError
from clusterctl_lab.bmc import bios, documents, event_log, metadata, power, settings
from clusterctl_lab.bmc.accounts import Account, account_of
from clusterctl_lab.bmc.sessions import Sessions
from clusterctl_lab.simulator import boot_source
from clusterctl_lab.simulator.hardware_kinds import HGX_H100

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from clusterctl_lab.simulator.hardware import Hardware

_LOG = logging.getLogger(__name__)
_BODY_LIMIT = 64 * 1024
# Submitting to the members of a collection is submitting to the collection.
_LOGIN = frozenset({documents.SESSIONS, f"{documents.SESSIONS}/Members"})


@dataclass(frozen=True, slots=True)
class Bmc:
    """One BMC.

    Attributes:
        node: name of its node.
        settings: file that stores the node's BIOS and boot settings.
        accounts: the only accepted credentials.
        lock: serializes changes of the settings.
        sessions: who is logged in by token.
        ac: the power of the machine; without it, nobody gets an answer.
    """

    node: str
    settings: Path
    accounts: tuple[Account, ...]
    hardware: Hardware = HGX_H100
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    sessions: Sessions = field(default_factory=Sessions, repr=False)
    ac: power.AcPower = field(default_factory=power.AcPower, repr=False)

    @property
    def event_file(self) -> Path:
        """The file that stores its event log."""
        return self.settings.with_name("bmc-events.json")

    @property
    def power_cut_file(self) -> Path:
        """The file, in the node's folder, that informs the node of its last loss of power."""
        return self.settings.with_name("power-cut")


class BmcHandler(BaseHTTPRequestHandler):
    """Handles one request. Each node has a subclass that sets `bmc`."""

    bmc: ClassVar[Bmc]
    protocol_version = "HTTP/1.1"
    server_version = "clusterctl-lab-bmc"
    timeout = 30

    def do_GET(self) -> None:
        """Return a resource."""
        self._handle(self._get)

    def do_HEAD(self) -> None:
        """Return the headers of a resource."""
        self._handle(self._get)

    def do_PATCH(self) -> None:
        """Change BIOS attributes and the boot order at the next reset, or what that reset alone boots from."""
        self._handle(self._patch)

    def do_POST(self) -> None:
        """Reset the node, or log in."""
        self._handle(self._post)

    def do_DELETE(self) -> None:
        """Log out."""
        self._handle(self._delete)

    def do_PUT(self) -> None:
        """No resource is replaced as a whole."""
        self._handle(self._delete)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name is http.server's
        """Log without headers, which contain the password."""
        _LOG.info("%s %s", self.bmc.node, format % args)

    def _handle(self, action: Callable[[], None]) -> None:
        """Refuse what the rules refuse, in their order; then act."""
        if self.bmc.ac.is_gone:
            self.close_connection = True
            return
        self._body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _BODY_LIMIT))
        self._path = self.path.partition("?")[0].rstrip("/")
        account = self._account()
        if self.headers.get("OData-Version", metadata.ODATA_VERSION) != metadata.ODATA_VERSION:
            self._refuse(HTTPStatus.PRECONDITION_FAILED, f"OData-Version {metadata.ODATA_VERSION} is supported")
        elif account is None and not self._is_public():
            self._refuse(HTTPStatus.UNAUTHORIZED, "authentication required")
        elif account and not account.may_change and self.command in ("PATCH", "POST", "PUT"):
            with self.bmc.lock:
                event_log.add_event(
                    self.bmc.event_file, time.time(), f"{self.command} {self._path} by {account.user} refused: no privilege"
                )
            self._refuse(HTTPStatus.FORBIDDEN, "There are insufficient privileges for the account to perform the requested operation.")
        elif self.command in self._methods():
            self._run(action)
        elif self._methods() or self._resource():
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, f"{self.command} is not supported by {self._path}")
        else:
            self._refuse(HTTPStatus.NOT_FOUND, f"no resource {self.path}")

    def _is_public(self) -> bool:
        """Whether a request needs no account: a login, and what is read before one."""
        return self._path in (_LOGIN if self.command == "POST" else metadata.PUBLIC if self.command in ("GET", "HEAD") else ())

    def _methods(self) -> tuple[str, ...]:
        """The methods that the path supports; of one that is only read, none before the resource is known to exist."""
        if self._path in _LOGIN:
            return ("GET", "HEAD", "POST") if self._path == documents.SESSIONS else ("POST",)
        own = {
            **dict.fromkeys(documents.WRITABLE, ("GET", "HEAD", "PATCH")),
            documents.RESET: ("POST",),
            documents.AC_CYCLE: ("POST",),
        }.get(self._path)
        if own:
            return own
        name = self._path.removeprefix(f"{documents.SESSIONS}/")
        if name in self.bmc.sessions.users():
            return ("GET", "HEAD", "DELETE")
        return ("GET", "HEAD") if self.command in ("GET", "HEAD") or self._path in metadata.PUBLIC else ()

    def _resource(self) -> dict[str, Any] | None:
        with self.bmc.lock:
            now = power.power_state(self.bmc.node)
            current = self._settings_now(now.started_at)
        events = event_log.load_events(self.bmc.event_file)
        users = self.bmc.sessions.users()
        return documents.resource(self._path, self.bmc.node, current, self.bmc.hardware, on=now.on, events=events, sessions=users)

    def _settings_now(self, started_at: float) -> settings.Settings:
        """The settings after the last start; a start that has not been seen before is noted, with an event if it booted from the network."""
        stored = settings.load_settings(self.bmc.settings)
        current = stored.after_start(started_at)
        if current != stored:
            settings.save_settings(self.bmc.settings, current)
        if stored.boot.start != started_at and stored.boot.source(started_at) == boot_source.NETWORK:
            event_log.add_event(self.bmc.event_file, started_at, "Boot attempt from the network: no answer, the disk is next")
        return current

    def _get(self) -> None:
        if self._path == metadata.METADATA:
            self._send(HTTPStatus.OK, metadata.metadata_xml(), "application/xml", None)
        elif self._path == "/redfish":
            self._answer(HTTPStatus.OK, {"v1": f"{metadata.ROOT}/"})
        elif self._path == f"{metadata.ROOT}/odata":
            self._answer(HTTPStatus.OK, metadata.service_document(list(documents.CHILDREN)))
        else:
            body = self._resource()
            self._answer(HTTPStatus.OK if body else HTTPStatus.NOT_FOUND, body or documents.error_document(f"no resource {self.path}"))

    def _patch(self) -> None:
        body = self._json()
        changes, boot = body.get("Attributes"), body.get("Boot")
        known = isinstance(changes, dict) if self._path == documents.SETTINGS else isinstance(boot, dict)
        if not known:
            self._refuse(HTTPStatus.BAD_REQUEST, "PATCH Attributes of the Settings object of the BIOS, or Boot of the system")
            return
        with self.bmc.lock:
            stored = self._settings_now(power.power_state(self.bmc.node).started_at)
            settings.save_settings(self.bmc.settings, self._changed(stored, changes, boot))
        self._answer(HTTPStatus.NO_CONTENT, None)

    def _changed(self, stored: settings.Settings, changes: Any, boot: Any) -> settings.Settings:
        now = time.time()
        if self._path == documents.SETTINGS:
            return replace(stored, bios=stored.bios.stage({str(k): str(v) for k, v in changes.items()}, now))
        if self._path == documents.SYSTEM_SETTINGS:
            return replace(stored, boot=stored.boot.with_order([str(o) for o in boot.get("BootOrder") or []], now))
        target, enabled = (str(boot.get(f"BootSourceOverride{name}")) for name in ("Target", "Enabled"))
        return replace(stored, boot=stored.boot.with_override(target, enabled, now))

    def _post(self) -> None:
        if self._path in _LOGIN:
            self._login()
            return
        if self._path == documents.AC_CYCLE:
            self._cycle_ac()
            return
        kind = str(self._json().get("ResetType"))
        if kind not in power.ACTIONS:
            self._refuse(HTTPStatus.BAD_REQUEST, f"POST {documents.RESET} takes {', '.join(power.ACTIONS)}")
            return
        if kind in power.CUTS_POWER:
            self.bmc.power_cut_file.write_text(f"{time.time_ns()}\n", encoding="ascii")
        power.reset_node(self.bmc.node, kind)
        with self.bmc.lock:
            event_log.add_event(self.bmc.event_file, time.time(), f"Reset by Redfish: {kind}")
        self._answer(HTTPStatus.NO_CONTENT, None)

    def _cycle_ac(self) -> None:
        if self._json().get("ResetType") != power.AC_CYCLE:
            self._refuse(HTTPStatus.BAD_REQUEST, f"POST {documents.AC_CYCLE} takes {power.AC_CYCLE}")
        elif power.power_state(self.bmc.node).on:
            self._refuse(HTTPStatus.BAD_REQUEST, "The chassis power state must be Off to perform this action.")
        else:
            self.bmc.power_cut_file.write_text(f"{time.time_ns()}\n", encoding="ascii")
            with self.bmc.lock:
                event_log.add_event(self.bmc.event_file, time.time(), f"AC power cycle by Redfish: {power.AC_CYCLE}")
            self.bmc.ac.cycle(self.bmc.node)
            self._answer(HTTPStatus.NO_CONTENT, None)

    def _login(self) -> None:
        given = self._json()
        account = account_of(self.bmc.accounts, f"{given.get('UserName')}:{given.get('Password')}".encode())
        if account is None:
            self._refuse(HTTPStatus.UNAUTHORIZED, "unknown name or password")
            return
        name, token = self.bmc.sessions.begin(account)
        headers = {"Location": f"{documents.SESSIONS}/{name}", "X-Auth-Token": token}
        self._answer(HTTPStatus.CREATED, documents.session_document(name, account.user), headers)

    def _delete(self) -> None:
        self.bmc.sessions.end(self._path.rpartition("/")[2])
        self._answer(HTTPStatus.NO_CONTENT, None)

    def _run(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (bios.BiosSettingError, json.JSONDecodeError) as e:
            self._refuse(HTTPStatus.BAD_REQUEST, str(e))
        except LabError as e:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(e))

    def _account(self) -> Account | None:
        token = self.headers.get("X-Auth-Token")
        if token is not None:
            return self.bmc.sessions.account_of(token)
        kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
        try:
            return account_of(self.bmc.accounts, base64.b64decode(encoded, validate=True)) if kind == "Basic" else None
        except binascii.Error:
            return None

    def _json(self) -> dict[str, Any]:
        body = json.loads(self._body or b"{}")
        return body if isinstance(body, dict) else {}

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._answer(status, documents.error_document(text))

    def _answer(self, status: HTTPStatus, body: dict[str, Any] | None, headers: Mapping[str, str] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self._send(status, data, "application/json;charset=utf-8", body, headers)

    def _send(
        self, status: HTTPStatus, data: bytes, kind: str, body: dict[str, Any] | None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        if status == HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="BMC"')
            self.close_connection = True
        if data:
            self.send_header("Content-Type", kind)
        for name, value in {
            "OData-Version": metadata.ODATA_VERSION,
            "Cache-Control": "no-store",
            "Allow": ", ".join(self._methods()) or "GET, HEAD",
            "Link": metadata.schema_link(body),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
