"""The few answers of a NetBox that its Ansible inventory plug-in needs, on loopback."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "a-token-of-the-test"
VERSION = "4.1.0"
_DEVICES = "/api/dcim/devices/"
_MACHINES = "/api/virtualization/virtual-machines/"


def device(slot: int) -> dict[str, Any]:
    """A node as `GET /api/dcim/devices/` returns it, with the fields that the plug-in reads."""
    return {
        "id": slot,
        "name": f"r12-n{slot:02d}",
        "rack": {"id": 7, "name": "rack-12"},
        "position": float(slot),
        "primary_ip": {"address": f"192.0.2.{10 + slot}/24"},
        "oob_ip": {"address": f"198.51.100.{10 + slot}/24"},
        "custom_fields": {"gpu_profile": "hgx_h100_ib"},
        "status": {"value": "active"},
        "site": None,
        "tags": [],
    }


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if self.headers.get("Authorization") != f"Token {TOKEN}":
            self.send_error(401)
            return
        text = json.dumps(_body(path)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name of the base class
        """Keep the test's output clean."""


def _body(path: str) -> dict[str, Any]:
    if path == "/api/status/":
        return {"netbox-version": VERSION}
    if path == "/api/schema/":
        filters = [{"name": name} for name in ("role", "status", "has_primary_ip")]
        return {"info": {"version": VERSION}, "paths": {p: {"get": {"parameters": filters}} for p in (_DEVICES, _MACHINES)}}
    found = {_DEVICES: [device(1), device(2)], "/api/dcim/racks/": [{"id": 7, "name": "rack-12", "group": None, "role": None}]}
    return {"next": None, "results": found.get(path, [])}


@contextmanager
def fake_netbox() -> Iterator[str]:
    """A running server; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
