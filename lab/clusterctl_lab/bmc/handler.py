"""HTTP requests to one BMC: Basic authentication, GET of resources, PATCH of BIOS settings, POST of a reset."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import logging
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, ClassVar

from clusterctl.model.errors import LabError
from clusterctl_lab.bmc import bios, documents, event_log, power
from clusterctl_lab.simulator.hardware_kinds import HGX_H100

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl_lab.simulator.hardware import Hardware

_LOG = logging.getLogger(__name__)
_BODY_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Bmc:
    """One BMC.

    Attributes:
        node: name of its node.
        settings: file that stores the node's BIOS settings.
        user, password: the only accepted credentials.
        lock: serializes changes of the settings.
    """

    node: str
    settings: Path
    user: str
    password: str = field(repr=False)
    hardware: Hardware = HGX_H100
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def event_file(self) -> Path:
        """The file that stores its event log."""
        return self.settings.with_name("bmc-events.json")


class BmcHandler(BaseHTTPRequestHandler):
    """Handles one request. Each node has a subclass that sets `bmc`."""

    bmc: ClassVar[Bmc]
    protocol_version = "HTTP/1.1"
    server_version = "clusterctl-lab-bmc"
    timeout = 30

    def do_GET(self) -> None:
        """Return a resource; the service root needs no password."""
        if self.path.rstrip("/") == documents.ROOT or self._authorized():
            self._run(self._get)

    def do_PATCH(self) -> None:
        """Change BIOS attributes at the next reset."""
        if self._authorized():
            self._run(self._patch)

    def do_POST(self) -> None:
        """Reset the node."""
        if self._authorized():
            self._run(self._post)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name is http.server's
        """Log without headers, which contain the password."""
        _LOG.info("%s %s", self.bmc.node, format % args)

    def _get(self) -> None:
        with self.bmc.lock:
            now = power.power_state(self.bmc.node)
            settings = bios.load_bios(self.bmc.settings)
            current = settings.after_start(now.started_at)
            if current is not settings:
                bios.save_bios(self.bmc.settings, current)
        events = event_log.load_events(self.bmc.event_file)
        path = self.path.partition("?")[0]
        body = documents.resource(path, self.bmc.node, current, self.bmc.hardware, on=now.on, events=events)
        self._answer(HTTPStatus.OK if body else HTTPStatus.NOT_FOUND, body or documents.error_document(f"no resource {self.path}"))

    def _patch(self) -> None:
        changes = self._json().get("Attributes")
        if self.path.rstrip("/") != documents.SETTINGS or not isinstance(changes, dict):
            self._answer(HTTPStatus.BAD_REQUEST, documents.error_document("PATCH Attributes of the Settings object"))
            return
        with self.bmc.lock:
            current = bios.load_bios(self.bmc.settings).after_start(power.power_state(self.bmc.node).started_at)
            bios.save_bios(self.bmc.settings, current.stage({str(k): str(v) for k, v in changes.items()}, time.time()))
        self._answer(HTTPStatus.NO_CONTENT, None)

    def _post(self) -> None:
        kind = str(self._json().get("ResetType"))
        if self.path.rstrip("/") != documents.RESET or kind not in power.ACTIONS:
            self._answer(HTTPStatus.BAD_REQUEST, documents.error_document(f"POST {documents.RESET} takes {', '.join(power.ACTIONS)}"))
            return
        power.reset_node(self.bmc.node, kind)
        with self.bmc.lock:
            event_log.add_event(self.bmc.event_file, time.time(), f"Reset by Redfish: {kind}")
        self._answer(HTTPStatus.NO_CONTENT, None)

    def _run(self, action: Any) -> None:
        try:
            action()
        except (bios.BiosSettingError, json.JSONDecodeError) as e:
            self._answer(HTTPStatus.BAD_REQUEST, documents.error_document(str(e)))
        except LabError as e:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, documents.error_document(str(e)))

    def _authorized(self) -> bool:
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        try:
            given = base64.b64decode(token, validate=True) if kind == "Basic" else b""
        except binascii.Error:
            given = b""
        if hmac.compare_digest(given, f"{self.bmc.user}:{self.bmc.password}".encode()):
            return True
        self._answer(HTTPStatus.UNAUTHORIZED, documents.error_document("authentication required"))
        return False

    def _json(self) -> dict[str, Any]:
        length = min(int(self.headers.get("Content-Length") or 0), _BODY_LIMIT)
        body = json.loads(self.rfile.read(length) or b"{}")
        return body if isinstance(body, dict) else {}

    def _answer(self, status: HTTPStatus, body: dict[str, Any] | None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if status == HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="BMC"')
            self.close_connection = True
        if data:
            self.send_header("Content-Type", "application/json")
        self.send_header("OData-Version", "4.0")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
