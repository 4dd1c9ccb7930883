"""The Redfish service over real TLS; only podman is replaced."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_lab.bmc import documents, metadata
from support.bmc_service import ACCOUNTS, PASSWORD, Box, new_box, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import Message
    from pathlib import Path


class Client:
    def __init__(self, url: str, ca: Path) -> None:
        self.url = url
        self.context = ssl.create_default_context(cafile=str(ca))

    def __call__(self, path: str, method: str = "GET", body: Any = None, login: str = f"admin:{PASSWORD}") -> tuple[int, dict[str, Any]]:
        status, _, text = self.send(path, method, body, login)
        return status, json.loads(text or b"{}")

    def send(self, path: str, method: str = "GET", body: Any = None, login: str = "", **headers: str) -> tuple[int, Message, bytes]:
        """Status, headers and body of an answer; `_` in the name of a header stands for `-`."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, data=data)  # noqa: S310 always https
        if login:
            request.add_header("Authorization", "Basic " + base64.b64encode(login.encode()).decode())
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=10) as answer:  # noqa: S310
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as e:
            with e:
                return e.code, e.headers, e.read()


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Box:
    return new_box(monkeypatch)


@pytest.fixture
def client(box: Box, tmp_path: Path) -> Iterator[Client]:
    with served(tmp_path) as (url, ca):
        yield Client(url, ca)


def test_every_link_leads_to_a_resource(client: Client) -> None:
    seen, waiting = set[str](), [metadata.ROOT]
    while waiting:
        path = waiting.pop()
        seen.add(path)
        code, body = client(path)
        assert code == 200, path
        text = json.dumps(body)
        waiting += [p for p in set(text.split('"')) if p.startswith(metadata.ROOT) and p not in seen and "/Actions/" not in p]
    assert len(seen) > 10


@pytest.mark.parametrize("login", ["", "admin:wrong", "root:" + PASSWORD, "admin"])
def test_only_valid_credentials_are_accepted(client: Client, login: str) -> None:
    assert client(documents.SYSTEM, login=login)[0] == 401
    assert client(documents.SETTINGS, "PATCH", {"Attributes": {}}, login=login)[0] == 401
    assert client(documents.RESET, "POST", {"ResetType": "ForceOff"}, login=login)[0] == 401
    assert client(metadata.ROOT, login=login)[0] == 200


def test_a_bios_change_is_pending_until_a_reset(client: Client) -> None:
    assert client(documents.SETTINGS, "PATCH", {"Attributes": {"LogicalProc": "Disabled"}})[0] == 204
    assert client(documents.BIOS)[1]["Attributes"]["LogicalProc"] == "Enabled"
    assert client(documents.SETTINGS)[1]["Attributes"]["LogicalProc"] == "Disabled"
    assert client(documents.RESET, "POST", {"ResetType": "ForceRestart"})[0] == 204
    assert client(documents.BIOS)[1]["Attributes"]["LogicalProc"] == "Disabled"


def started_from_the_network(client: Client) -> list[str]:
    members = client(f"{documents.SYSTEM}/LogServices/SEL/Entries")[1]["Members"]
    return [m["Message"] for m in members if "from the network" in m["Message"]]


def test_a_boot_order_is_pending_until_a_reset_and_a_boot_from_the_network_is_logged(client: Client, box: Box) -> None:
    order = client(documents.SYSTEM)[1]["Boot"]["BootOrder"]
    assert client(documents.SYSTEM_SETTINGS, "PATCH", {"Boot": {"BootOrder": sorted(order)}})[0] == 204
    assert client(documents.SYSTEM)[1]["Boot"]["BootOrder"] == order
    assert client(documents.SYSTEM_SETTINGS)[1]["Boot"]["BootOrder"] == sorted(order)
    assert started_from_the_network(client) == []
    assert client(documents.RESET, "POST", {"ResetType": "ForceRestart"})[0] == 204
    assert client(documents.SYSTEM)[1]["Boot"]["BootOrder"] == sorted(order)
    assert len(started_from_the_network(client)) == 1


def test_an_override_to_the_disk_lasts_one_boot(client: Client, box: Box) -> None:
    order = client(documents.SYSTEM)[1]["Boot"]["BootOrder"]
    assert client(documents.SYSTEM_SETTINGS, "PATCH", {"Boot": {"BootOrder": sorted(order)}})[0] == 204
    once = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Hdd", "BootSourceOverrideMode": "UEFI"}
    assert client(documents.SYSTEM, "PATCH", {"Boot": once})[0] == 204
    assert client(documents.SYSTEM)[1]["Boot"]["BootSourceOverrideTarget"] == "Hdd"
    for boots in (0, 1):
        assert client(documents.RESET, "POST", {"ResetType": "ForceRestart"})[0] == 204
        box.started_at += 10 * boots
        assert client(documents.SYSTEM)[1]["Boot"]["BootSourceOverrideEnabled"] == "Disabled"
        assert len(started_from_the_network(client)) == boots


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


@dataclass
class Clock:
    """Instead of the modules `time` and `threading` of the power of a machine."""

    now: float = 100.0
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def timer(self, _seconds: float, action: Callable[..., None], words: tuple[str, ...]) -> Any:
        return SimpleNamespace(daemon=False, start=lambda: self.waiting.append(partial(action, *words)))


def test_an_ac_power_cycle_takes_the_bmc_along_and_starts_the_host(
    client: Client, box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("clusterctl_lab.bmc.power.time", clock)
    monkeypatch.setattr("clusterctl_lab.bmc.power.Timer", clock.timer)
    cycle = {"ResetType": "AuxPowerCycle"}
    code, body = client(documents.AC_CYCLE, "POST", cycle)
    assert (code, body["error"]["message"]) == (400, "The chassis power state must be Off to perform this action.")
    assert client(documents.AC_CYCLE, "POST", {"ResetType": "On"})[0] == 400
    assert client(documents.RESET, "POST", {"ResetType": "ForceOff"})[0] == 204
    cut = (tmp_path / "power-cut").read_text()
    assert client(documents.AC_CYCLE, "POST", cycle)[0] == 204
    with pytest.raises(OSError, match=r"closed|without response"):
        client(documents.SYSTEM)
    clock.now += 60
    assert client(documents.SYSTEM)[1]["PowerState"] == "Off"
    (start,) = clock.waiting
    start()
    assert box.resets == ["ForceOff", "On"]
    assert client(documents.SYSTEM)[1]["PowerState"] == "On"
    assert (tmp_path / "power-cut").read_text() != cut


def test_a_node_is_told_of_each_loss_of_power(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "power-cut"

    def told(kind: str) -> str:
        assert client(documents.RESET, "POST", {"ResetType": kind})[0] == 204
        return file.read_text() if file.exists() else ""

    assert [told(kind) for kind in ("ForceRestart", "GracefulRestart", "On")] == ["", "", ""]
    cuts = [told(kind) for kind in ("GracefulShutdown", "On", "ForceOff", "PowerCycle")]
    assert cuts[0]
    assert cuts[0] == cuts[1]
    assert len(set(cuts)) == 3


@pytest.mark.parametrize(
    ("path", "method", "body", "code"),
    [
        (documents.RESET, "POST", {"ResetType": "Explode"}, 400),
        (documents.RESET, "POST", ["ForceOff"], 400),
        (documents.BIOS, "PATCH", {"Attributes": {"LogicalProc": "Disabled"}}, 405),
        (metadata.ROOT, "DELETE", None, 405),
        (documents.SYSTEM, "PUT", {}, 405),
        (documents.RESET, "GET", None, 405),
        (f"{documents.SESSIONS}/none", "DELETE", None, 404),
        (documents.SETTINGS, "PATCH", {"Attributes": "LogicalProc"}, 400),
        (documents.SETTINGS, "PATCH", {"Boot": {}}, 400),
        (documents.SYSTEM_SETTINGS, "PATCH", {"Boot": {"BootOrder": ["Boot0001"]}}, 400),
        (documents.SYSTEM, "PATCH", {"Boot": {"BootSourceOverrideTarget": "Floppy"}}, 400),
        (documents.SYSTEM, "PATCH", {}, 400),
        (f"{metadata.ROOT}/Nothing", "GET", None, 404),
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
        client(metadata.ROOT)


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


def test_a_session_is_a_login_by_token_until_it_ends(client: Client) -> None:
    code, headers, text = client.send(documents.SESSIONS, "POST", {"UserName": "admin", "Password": PASSWORD})
    assert code == 201
    assert PASSWORD not in text.decode()
    token, uri = str(headers["X-Auth-Token"]), str(headers["Location"])
    assert client.send(documents.SYSTEM, X_Auth_Token=token)[0] == 200
    assert client.send(documents.SYSTEM, X_Auth_Token=token + "x")[0] == 401
    assert [m["@odata.id"] for m in client(documents.SESSIONS)[1]["Members"]] == [uri]
    assert client.send(uri, "DELETE", X_Auth_Token=token)[0] == 204
    assert client.send(documents.SYSTEM, X_Auth_Token=token)[0] == 401
    assert client(uri)[0] == 404


CHANGES = [(documents.SYSTEM, "PATCH"), (documents.SETTINGS, "PATCH"), (documents.RESET, "POST"), (documents.SYSTEM, "PUT")]


@pytest.mark.parametrize(("path", "method"), CHANGES)
def test_an_account_that_may_only_read_changes_nothing_and_is_logged(client: Client, path: str, method: str) -> None:
    reader = ACCOUNTS[1]
    login = f"{reader.user}:{reader.password}"
    assert client(path.removesuffix("/Actions/ComputerSystem.Reset"), login=login)[0] == 200
    code, answer = client(path, method, {"ResetType": "ForceOff", "Boot": {}, "Attributes": {}}, login)
    assert (code, "insufficient privileges" in answer["error"]["message"]) == (403, True)
    (entry,) = client(f"{documents.SYSTEM}/LogServices/SEL/Entries")[1]["Members"]
    assert entry["Message"] == f"{method} {path} by {reader.user} refused: no privilege"
    token = client.send(documents.SESSIONS, "POST", {"UserName": reader.user, "Password": reader.password})[1]["X-Auth-Token"]
    assert client.send(path, method, {}, X_Auth_Token=str(token))[0] == 403


@pytest.mark.parametrize("given", [{"UserName": "admin", "Password": "wrong"}, {"UserName": "root", "Password": PASSWORD}, {}, []])
def test_a_session_needs_the_name_and_the_password(client: Client, given: object) -> None:
    code, headers, _ = client.send(documents.SESSIONS, "POST", given)
    assert (code, headers["X-Auth-Token"]) == (401, None)


def test_what_a_service_tells_without_a_login(client: Client) -> None:
    assert client("/redfish", login="")[1] == {"v1": "/redfish/v1/"}
    assert client("/redfish/v1/odata", login="")[1]["value"][0]["url"] == "/redfish/v1/"
    code, headers, text = client.send(metadata.METADATA)
    assert (code, headers["Content-Type"]) == (200, "application/xml")
    assert b"EntityContainer" in text
    assert all(f'Namespace="{kind}.{version}"'.encode() in text for kind, version in metadata.VERSIONS.items())


def test_headers_of_an_answer(client: Client) -> None:
    _, headers, _ = client.send(metadata.ROOT)
    assert (headers["OData-Version"], headers["Allow"], headers["Cache-Control"]) == ("4.0", "GET, HEAD", "no-store")
    assert headers["Link"] == "<https://redfish.dmtf.org/schemas/v1/ServiceRoot.v1_11_0.json>; rel=describedby"
    assert client.send(metadata.ROOT, OData_Version="4.1")[0] == 412
    code, headers, text = client.send(metadata.ROOT, "HEAD")
    assert (code, text) == (200, b"")
    assert int(headers["Content-Length"]) > 100
    assert client.send(documents.RESET, login=f"admin:{PASSWORD}")[1]["Allow"] == "POST"
