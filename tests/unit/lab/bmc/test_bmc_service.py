"""The Redfish service over real TLS; only podman is replaced."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.model.errors import LabError
from clusterctl_lab.bmc import documents, power
from clusterctl_lab.bmc.__main__ import TlsServer
from clusterctl_lab.bmc.certificate import write_certificate
from clusterctl_lab.bmc.handler import Bmc, BmcHandler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASSWORD = "planted-secret-7"


@dataclass
class Box:
    """A node without a container that records its resets."""

    on: bool = True
    started_at: float = 0
    resets: list[str] = field(default_factory=list)
    broken: bool = False

    def power(self, _node: str) -> power.PowerState:
        if self.broken:
            raise LabError(detail="no such container", hint="")
        return power.PowerState(self.on, self.started_at)

    def reset(self, _node: str, kind: str) -> None:
        self.resets.append(kind)
        self.on = "Off" not in kind and "Shutdown" not in kind
        self.started_at = time.time() + 1


class Client:
    def __init__(self, url: str, ca: Path) -> None:
        self.url = url
        self.context = ssl.create_default_context(cafile=str(ca))

    def __call__(self, path: str, method: str = "GET", body: Any = None, login: str = f"admin:{PASSWORD}") -> tuple[int, dict[str, Any]]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=data)  # noqa: S310 always https
        if login:
            request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=10) as answer:  # noqa: S310
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as e:
            with e:
                return e.code, json.loads(e.read() or b"{}")


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Box:
    made = Box()
    monkeypatch.setattr(power, "power_state", made.power)
    monkeypatch.setattr(power, "reset_node", made.reset)
    return made


@pytest.fixture
def client(box: Box, tmp_path: Path) -> Iterator[Client]:
    write_certificate(tmp_path / "ca.pem", tmp_path / "key.pem", ["127.0.0.1"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "ca.pem", tmp_path / "key.pem")
    bmc = Bmc("r12-n01", tmp_path / "bmc.json", "admin", PASSWORD)
    server = TlsServer(("127.0.0.1", 0), type("Handler", (BmcHandler,), {"bmc": bmc}))
    server.tls = tls
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Client(f"https://127.0.0.1:{server.server_address[1]}", tmp_path / "ca.pem")
    server.shutdown()
    thread.join()
    server.server_close()


def test_every_link_leads_to_a_resource(client: Client) -> None:
    seen, waiting = set[str](), [documents.ROOT]
    while waiting:
        path = waiting.pop()
        seen.add(path)
        code, body = client(path)
        assert code == 200, path
        text = json.dumps(body)
        waiting += [p for p in set(text.split('"')) if p.startswith(documents.ROOT) and p not in seen and "/Actions/" not in p]
    assert len(seen) > 10


@pytest.mark.parametrize("login", ["", "admin:wrong", "root:" + PASSWORD, "admin"])
def test_only_valid_credentials_are_accepted(client: Client, login: str) -> None:
    assert client(documents.SYSTEM, login=login)[0] == 401
    assert client(documents.SETTINGS, "PATCH", {"Attributes": {}}, login=login)[0] == 401
    assert client(documents.RESET, "POST", {"ResetType": "ForceOff"}, login=login)[0] == 401
    assert client(documents.ROOT, login=login)[0] == 200


def test_a_bios_change_is_pending_until_a_reset(client: Client) -> None:
    assert client(documents.SETTINGS, "PATCH", {"Attributes": {"LogicalProc": "Disabled"}})[0] == 204
    assert client(documents.BIOS)[1]["Attributes"]["LogicalProc"] == "Enabled"
    assert client(documents.SETTINGS)[1]["Attributes"]["LogicalProc"] == "Disabled"
    assert client(documents.RESET, "POST", {"ResetType": "ForceRestart"})[0] == 204
    assert client(documents.BIOS)[1]["Attributes"]["LogicalProc"] == "Disabled"


def test_an_invalid_value_is_refused_and_changes_nothing(client: Client) -> None:
    code, body = client(documents.SETTINGS, "PATCH", {"Attributes": {"LogicalProc": "Banana"}})
    assert code == 400
    assert "Banana" in body["error"]["message"]
    assert client(documents.SETTINGS)[1]["Attributes"]["LogicalProc"] == "Enabled"


def test_power_state_follows_resets(client: Client, box: Box) -> None:
    assert client(documents.SYSTEM)[1]["PowerState"] == "On"
    assert client(documents.RESET, "POST", {"ResetType": "GracefulShutdown"})[0] == 204
    assert client(documents.SYSTEM)[1]["PowerState"] == "Off"
    assert client(documents.RESET, "POST", {"ResetType": "On"})[0] == 204
    assert box.resets == ["GracefulShutdown", "On"]


@pytest.mark.parametrize(
    ("path", "method", "body", "code"),
    [
        (documents.RESET, "POST", {"ResetType": "Explode"}, 400),
        (documents.RESET, "POST", ["ForceOff"], 400),
        (documents.BIOS, "PATCH", {"Attributes": {"LogicalProc": "Disabled"}}, 400),
        (documents.SETTINGS, "PATCH", {"Attributes": "LogicalProc"}, 400),
        (f"{documents.ROOT}/Nothing", "GET", None, 404),
    ],
)
def test_invalid_requests_are_refused(client: Client, box: Box, path: str, method: str, body: Any, code: int) -> None:
    assert client(path, method, body)[0] == code
    assert box.resets == []


def test_a_missing_container_is_an_error_not_a_power_state(client: Client, box: Box) -> None:
    box.broken = True
    assert client(documents.SYSTEM)[0] == 500


def test_the_log_contains_no_password(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        client(documents.SYSTEM)
    assert "GET" in caplog.text
    assert PASSWORD not in caplog.text
    assert base64.b64encode(f"admin:{PASSWORD}".encode()).decode() not in caplog.text


def test_the_certificate_is_rejected_without_the_lab_ca(client: Client) -> None:
    client.context = ssl.create_default_context()
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        client(documents.ROOT)


def test_the_event_log_shows_the_resets_newest_last(client: Client) -> None:
    entries = f"{documents.SYSTEM}/LogServices/SEL/Entries"
    assert client(entries)[1]["Members"] == []
    assert client(documents.RESET, "POST", {"ResetType": "ForceOff"})[0] == 204
    assert client(documents.RESET, "POST", {"ResetType": "Explode"})[0] == 400
    assert client(documents.RESET, "POST", {"ResetType": "On"})[0] == 204
    members = client(entries)[1]["Members"]
    assert [m["Message"] for m in members] == ["Reset by Redfish: ForceOff", "Reset by Redfish: On"]
    assert client(f"{entries}/2")[1]["Message"] == "Reset by Redfish: On"
    assert client(f"{entries}/3")[0] == 404


def test_only_redfish_over_tls_is_enabled(client: Client) -> None:
    protocols = client(f"{documents.MANAGER}/NetworkProtocol")[1]
    enabled = {name for name, value in protocols.items() if isinstance(value, dict) and value.get("ProtocolEnabled")}
    assert enabled == {"HTTPS"}
