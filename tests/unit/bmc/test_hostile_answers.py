"""Whatever one BMC sends, the result is an error of that BMC, within the limit of time, and never a traceback."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.bmc.host_power import BmcLimits, HostPower
from clusterctl.adapters.bmc.query import query_bmc
from clusterctl.adapters.bmc.read_report import read_report
from clusterctl.model.bmc_report import BmcReport, BmcSection
from clusterctl.terminal.bmc import show_bmcs
from clusterctl_tools import redfish
from clusterctl_tools.redfish import BmcAnswer, BmcError, BmcRequest, Redfish
from support.hostile_server import HostileServer
from support.redfish_bmc import PASSWORD, USER
from support.redfish_tree import invented

if TYPE_CHECKING:
    from pathlib import Path

DECLARED: dict[str, Any] = {
    "bios_timeout_s": 1,
    "bios_verify_certificates": True,
    "bios_system": "",
    "bios_vendor": "",
    "bios_firmware_pins": {"dell": [{"name": "bios", "ids": ["*"], "version": "1"}]},
}
ACCESS = BmcAccess("r12-n01", "https://192.0.2.1", USER, PASSWORD)
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DEEP = b"[" * 200_000 + b"]" * 200_000


def whole(body: bytes) -> bytes:
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


# name, pieces, pause in seconds between them, the error
ANSWERS: list[tuple[str, list[bytes], float, str]] = [
    ("nothing", [], 0, "cannot be reached"),
    ("no HTTP", [b"SSH-2.0-OpenSSH_9.2\r\n"], 0, "sends no HTTP"),
    ("a chunked answer that breaks off", [OK + b"Transfer-Encoding: chunked\r\n\r\n1000\r\n{"], 0, "breaks off its answer"),
    ("an answer that is shorter than its length", [OK + b"Content-Length: 1000\r\n\r\n{}"], 0, "too early|breaks off"),
    ("a header line that is too long", [OK + b"X: " + b"a" * 100_000 + b"\r\n\r\n{}"], 0, "sends no HTTP"),
    ("too many headers", [OK + b"X: a\r\n" * 200 + b"\r\n{}"], 0, "sends no HTTP"),
    ("a status that is not a number", [b"HTTP/1.1 OK OK\r\n\r\n"], 0, "sends no HTTP"),
    ("a page of a proxy", [whole(b"<html>please log in</html>")], 0, "not JSON"),
    ("deep JSON", [whole(DEEP)], 0, "not JSON"),
    ("a number of 10,000 digits", [whole(b"9" * 10_000)], 0, "not JSON"),
    ("a list", [whole(b"[]")], 0, "not a JSON object"),
    ("a redirect", [b"HTTP/1.1 302 Found\r\nLocation: https://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"], 0, "HTTP 302"),
    ("a body of one byte each 0.2 s", [OK + b"Content-Length: 1000\r\n\r\n", *([b" "] * 1000)], 0.2, "no whole answer within 1 s"),
    ("headers of one byte each 0.2 s", [OK, *([b"X"] * 1000)], 0.2, "no whole answer within 1 s"),
]


@pytest.mark.parametrize(("pieces", "pause_s", "why"), [a[1:] for a in ANSWERS], ids=[a[0] for a in ANSWERS])
def test_an_answer_that_breaks_the_protocol_is_an_error_within_the_limit(
    tmp_path: Path, pieces: list[bytes], pause_s: float, why: str
) -> None:
    with HostileServer(tmp_path, pieces, pause_s) as server:
        access = BmcAccess("r12-n01", server.url, USER, PASSWORD, str(server.ca_file))
        start = time.monotonic()
        with pytest.raises(BmcError, match=why):
            query_bmc(access, "bios", DECLARED)
        assert time.monotonic() - start < 10


def test_an_answer_that_is_too_large_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterctl_tools.redfish._LIMIT_BYTES", 1000)
    with HostileServer(tmp_path, [whole(b" " * 2000)]) as server:
        access = BmcAccess("r12-n01", server.url, USER, PASSWORD, str(server.ca_file))
        with pytest.raises(BmcError, match="larger than 1000 bytes"):
            Redfish(access, 5.0).get("/redfish/v1")


def test_pages_without_end_reach_the_limit_of_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("clusterctl_tools.redfish.time.monotonic", lambda: now[0])

    def page(_host: str, _context: object, request: BmcRequest, limit_s: float) -> BmcAnswer:
        assert limit_s <= 5
        now[0] += 1
        return BmcAnswer(200, "OK", json.dumps({"Members": [], "Members@odata.nextLink": f"{request.path}1"}).encode())

    monkeypatch.setattr(redfish, "exchange", page)
    with pytest.raises(BmcError, match="more than 600 s together"):
        list(Redfish(ACCESS, 5.0).members("/redfish/v1/Systems"))


PLACES = [(path, key) for path, resource in sorted(invented().items()) for key in resource]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["@odata.id", "Members", "Status", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(st.sampled_from(PLACES), JSON, min_size=1, max_size=3))
def test_values_of_any_type_in_any_place_are_an_error_of_the_bmc_or_of_a_section(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changes: dict[tuple[str, str], Any]
) -> None:
    tree = {path.rstrip("/"): dict(resource) for path, resource in invented().items()}
    for (path, key), value in changes.items():
        tree[path.rstrip("/")][key] = value

    def answer(_host: str, _context: object, request: BmcRequest, _limit_s: float) -> BmcAnswer:
        found = tree.get(request.path.partition("?")[0].rstrip("/"))
        return BmcAnswer(404, "Not Found", b"") if found is None else BmcAnswer(200, "OK", json.dumps(found).encode())

    monkeypatch.setattr(redfish, "exchange", answer)
    for read in (lambda: query_bmc(ACCESS, "bios", DECLARED), lambda: HostPower(ACCESS, BmcLimits(5)).view()):
        with contextlib.suppress(BmcError):
            read()
    report = read_report(ACCESS, BmcLimits(5), tuple(BmcSection), 3)
    assert isinstance(report, BmcReport)
    for output in ("table", "json", "yaml"):
        show_bmcs([report], tuple(BmcSection), output)
    assert "\x1b" not in capsys.readouterr().out


def test_members_that_are_no_list_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redfish, "exchange", lambda *_: BmcAnswer(200, "OK", b'{"Members": 5}'))
    with pytest.raises(BmcError, match="Members is not a list"):
        list(Redfish(ACCESS, 5.0).members("/redfish/v1/Systems"))
