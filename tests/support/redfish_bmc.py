"""A fake BMC on loopback: HTTPS, Basic authentication, ETags, BIOS changes that are pending until a reset. Shares no code with the tested modules."""

from __future__ import annotations

import base64
import copy
import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from support.redfish_tree import Tree

USER, PASSWORD = "admin", "planted-Zq7-bmc-secret"
_OK, _FORBIDDEN = 200, 403
READER, READER_PASSWORD = "auditor", "planted-Xw3-reader"
_AUTHORIZATION, _READER = (
    "Basic " + base64.b64encode(f"{u}:{p}".encode()).decode() for u, p in ((USER, PASSWORD), (READER, READER_PASSWORD))
)


class Bmc:
    """A context manager.

    Attributes:
        writable: if False, writes are answered with 405, as needed for recorded services.
        forbidden: attributes whose change is refused, regardless of the registry.
        ignores: attributes that the BIOS silently does not apply at a reset.
        down: all requests are answered with 503.
        lockdown: HTTP status with which all changes are refused, whoever tries them; 0 = none.
        anonymous: HTTP status for requests without an account; 0 = the connection is closed.
        reader_status: HTTP status for reads of the account that may only read, and for its changes; `reader_log`: the collection of entries that gets one for its change.
        resets: the reset types that were accepted; the power state follows them.
        refused: the reset types that are refused.
        overrides: the boot overrides that were set; refused with the text `no_override` if that is not empty, and with a mode if `mode_is_read_only`.
        writes: bodies of accepted writes.
        requests: (method, path) in order.
    """

    def __init__(self, tree: Tree, folder: Path, *, writable: bool = True) -> None:
        self.tree: Tree = {path.rstrip("/"): copy.deepcopy(resource) for path, resource in tree.items()}
        self.writable = writable
        settings = self.bios.get("@Redfish.Settings") or {"SettingsObject": {"@odata.id": "/nowhere"}}
        self.settings_path = str(settings["SettingsObject"]["@odata.id"]).rstrip("/")
        self.forbidden: set[str] = set()
        self.ignores: set[str] = set()
        self.down = False
        self.lockdown = 0
        self.anonymous = 401
        self.reader_status = (200, 403)
        self.reader_log = ""
        self.resets: list[str] = []
        self.refused: set[str] = set()
        self.overrides: list[dict[str, Any]] = []
        self.no_override = ""
        self.mode_is_read_only = False
        self.order: list[str] = []
        self.writes: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.ca_file = certificate(folder)
        self._scheduled = False
        self._revision = 1
        self._server = _Server(self)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_file, folder / "bmc-key.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_address[1]}"

    @property
    def bios(self) -> dict[str, Any]:
        return next(self.tree[str(r["Bios"]["@odata.id"]).rstrip("/")] for r in self.tree.values() if "Bios" in r)

    @property
    def current(self) -> dict[str, Any]:
        found: dict[str, Any] = self.bios["Attributes"]
        return found

    @property
    def pending(self) -> dict[str, Any]:
        found: dict[str, Any] = self.tree.setdefault(self.settings_path, {}).setdefault("Attributes", {})
        return found

    @property
    def registry(self) -> dict[str, Any]:
        found = [r["RegistryEntries"] for r in self.tree.values() if "RegistryEntries" in r]
        return max(found, key=lambda e: sum(a["AttributeName"] in self.current for a in e["Attributes"]), default={"Attributes": []})

    @property
    def etag(self) -> str:
        return f'"{self._revision}"'

    def reset(self) -> None:
        """Apply scheduled pending changes, then the values that presets impose on other attributes."""
        if self._scheduled:
            self.current.update({k: v for k, v in self.pending.items() if k not in self.ignores and v is not None})
            for rule in self._rules("CurrentValue"):
                if self._holds(rule):
                    self.current[rule["MapToAttribute"]] = rule["MapToValue"]
            for name in [k for k in self.pending if self.pending[k] is not None]:
                del self.pending[name]
        for resource in self.tree.values() if self.order else ():
            if "BootOrder" in (resource.get("Boot") or {}):
                resource["Boot"]["BootOrder"] = list(self.order)
        self._scheduled = False
        self._revision += 1

    def boot(self, path: str, boot: dict[str, Any]) -> str:
        """Take a boot order for the next reset, which a settings resource shows, or an override. Returns why it is refused."""
        if "BootOrder" in boot:
            self.order = boot["BootOrder"]
            if "Bios" not in self.tree[path]:
                self.tree[path]["Boot"]["BootOrder"] = list(self.order)
        elif self.no_override:
            return self.no_override
        elif self.mode_is_read_only and "BootSourceOverrideMode" in boot:
            return "The property BootSourceOverrideMode is a read only property and cannot be assigned a value."
        else:
            self.overrides.append(boot)
        return ""

    def switch(self, kind: str) -> None:
        """Run a reset: the power state follows, and pending BIOS changes are applied."""
        self.resets.append(kind)
        for resource in self.tree.values():
            if "#ComputerSystem.Reset" in (resource.get("Actions") or {}):
                resource["PowerState"] = "Off" if kind in ("ForceOff", "GracefulShutdown") else "On"
        self.reset()

    def refusal(self, body: dict[str, Any]) -> str:
        """The reason why a write is refused; empty if it is accepted."""
        entries = {a["AttributeName"]: a for a in self.registry["Attributes"]}
        for name, value in body.get("Attributes", {}).items():
            entry = entries.get(name)
            if name in self.forbidden:
                return f"The property {name} may not be changed."
            if entry is None or name not in self.current:
                return f"The property {name} is not in the list of valid properties for the resource."
            if any(r["MapToAttribute"] == name and self._holds(r) for r in (*self._rules("ReadOnly"), *self._rules("GrayOut"))):
                return f"The property {name} is a read only property and cannot be assigned a value."
            texts = {t for v in entry.get("Value") or [] for t in (v.get("ValueName"), v.get("ValueDisplayName"))}
            shape = {"Boolean": bool, "Integer": int}.get(entry["Type"], str)
            if not isinstance(value, shape) or (texts and value not in texts):
                return f"The value '{value}' for the property {name} is not in the list of acceptable values."
        return ""

    def write(self, body: dict[str, Any]) -> None:
        self.pending.update(body["Attributes"])
        self.writes.append(body)
        apply_time = body.get("@Redfish.SettingsApplyTime", {}).get("ApplyTime")
        self._scheduled = self._scheduled or apply_time == "OnReset" or "SupportedApplyTimes" not in self.bios["@Redfish.Settings"]
        self._revision += 1

    def _rules(self, prop: str) -> list[dict[str, Any]]:
        rules = (d["Dependency"] for d in self.registry.get("Dependencies") or [])
        return [r for r in rules if r["MapToProperty"] == prop and r["MapToValue"] not in (False, "false")]

    def _holds(self, rule: dict[str, Any]) -> bool:
        """Whether a dependency applies. Its conditions are alternatives, as in Dell's registries; MapTerms are not supported."""
        conditions = [(self.current.get(m["MapFromAttribute"]), m) for m in rule["MapFrom"]]
        return any((value == m["MapFromValue"]) is (m["MapFromCondition"] == "EQU") for value, m in conditions if value is not None)


def certificate(folder: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, created once per folder."""
    file = folder / "bmc-ca.pem"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
        outputs = ["-keyout", str(folder / "bmc-key.pem"), "-out", str(file)]
        subprocess.run(["openssl", *words.split(), *outputs], check=True, capture_output=True)
    return file


class _Server(ThreadingHTTPServer):
    def __init__(self, bmc: Bmc) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bmc = bmc


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the name is http.server's
        return

    def do_GET(self) -> None:
        resource = self.server.bmc.tree.get(self.path.rstrip("/"))
        if not self._allowed():
            return
        if resource is None:
            self._refuse(404, f"{self.path} is not there.")
        else:
            self._answer(200, resource)

    def do_PATCH(self) -> None:
        body, bmc = self._body(), self.server.bmc
        if not self._allowed():
            return
        match = self.headers.get("If-Match")
        if bmc.lockdown:
            self._refuse(bmc.lockdown, "No changes now.")
        elif bmc.writable and self.path in bmc.tree and "Boot" in body:
            text = bmc.boot(self.path, body["Boot"])
            self._refuse(400, text) if text else self._answer(204)
        elif not bmc.writable or self.path.rstrip("/") != bmc.settings_path:
            self._refuse(405, "This resource takes no PATCH.")
        elif match not in ("*", bmc.etag):
            self._refuse(412 if match else 428, "The ETag does not match.")
        elif text := bmc.refusal(body):
            self._refuse(400, text)
        else:
            bmc.write(body)
            self._answer(200, {})

    def do_POST(self) -> None:
        kind, bmc = str(self._body().get("ResetType")), self.server.bmc
        if not self._allowed():
            return
        if not bmc.writable or not self.path.endswith("/Actions/ComputerSystem.Reset"):
            self._refuse(405, "No such action.")
        elif kind in bmc.refused:
            self._refuse(400, f"The value '{kind}' for the property ResetType is not in the list of acceptable values.")
        else:
            bmc.switch(kind)
            self._answer(204)

    def _body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        return found

    def _allowed(self) -> bool:
        bmc = self.server.bmc
        bmc.requests.append((self.command, self.path))
        if bmc.down:
            self._refuse(503, "The service is starting.")
        elif "Authorization" not in self.headers and self.path.rstrip("/") != "/redfish/v1":
            if bmc.anonymous == _OK:
                return True
            if not bmc.anonymous:
                self.close_connection = True
                return False
            self._refuse(bmc.anonymous, "The request needs an account.")
        elif self.headers.get("Authorization") == _READER:
            return self._reader_allowed()
        elif self.headers.get("Authorization", _AUTHORIZATION) != _AUTHORIZATION and self.path.rstrip("/") != "/redfish/v1":
            self._refuse(401, "The credentials are not valid.")
        else:
            return True
        return False

    def _reader_allowed(self) -> bool:
        bmc = self.server.bmc
        status = bmc.reader_status[self.command != "GET"]
        if self.command == "GET" and status == _OK:
            return True
        if self.command != "GET" and bmc.reader_log:
            entries = bmc.tree[bmc.reader_log]["Members"]
            entries.append({"Id": str(len(entries) + 1), "Created": "2026-03-01T00:00:00Z", "Message": f"PATCH by {READER}: {status}"})
        if status == _OK:
            self._answer(200, {})
        else:
            self._refuse(status, "There are insufficient privileges." if status == _FORBIDDEN else "No.")
        return False

    def _refuse(self, code: int, text: str) -> None:
        self._answer(code, {"error": {"message": "see @Message.ExtendedInfo", "@Message.ExtendedInfo": [{"Message": text}]}})

    def _answer(self, code: int, body: dict[str, Any] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        if self.path.rstrip("/") == self.server.bmc.settings_path:
            self.send_header("ETag", self.server.bmc.etag)
        self.end_headers()
        self.wfile.write(data)
