"""What the client does beside reading: retries, changes with an ETag, and refusals. Hostile answers: tests/unit/bmc/test_hostile_answers.py."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl_tools import redfish
from clusterctl_tools.redfish import BmcAnswer, BmcError, BmcRequest, Redfish, RefusedError
from support import bmc_service

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ACCESS = BmcAccess("r12-n01", "https://192.0.2.1/base", "user", "planted")
SETTINGS = "/redfish/v1/Systems/1/Bios/Settings"


def served(monkeypatch: pytest.MonkeyPatch, *answers: BmcAnswer) -> tuple[Redfish, list[BmcRequest], list[float]]:
    """A client whose requests get these answers in order, the requests, and its pauses."""
    left, requests, pauses_s = list(answers), list[BmcRequest](), list[float]()

    def answer(_host: str, _context: object, request: BmcRequest, _limit_s: float) -> BmcAnswer:
        requests.append(request)
        return left.pop(0)

    monkeypatch.setattr(redfish, "exchange", answer)
    monkeypatch.setattr("clusterctl_tools.redfish.time.sleep", pauses_s.append)
    return Redfish(ACCESS, 5.0), requests, pauses_s


def busy(retry_after: str = "") -> BmcAnswer:
    return BmcAnswer(503, "Service Unavailable", b"", {"retry-after": retry_after} if retry_after else {})


def test_a_file_of_authorities_that_was_replaced_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bmc_service.new_box(monkeypatch)
    for _ in range(2):
        with bmc_service.served(tmp_path) as (url, ca_file):
            login = BmcAccess("r12-n01", url, bmc_service.USER, bmc_service.PASSWORD, str(ca_file))
            assert Redfish(login, 5.0).get("/redfish/v1/")["RedfishVersion"]


@pytest.mark.parametrize(("asked", "pause_s"), [("", 1.0), ("3", 3.0), ("600", 5.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0), ("-1", 1.0)])
def test_a_busy_bmc_is_read_again_after_the_pause_that_it_requests(monkeypatch: pytest.MonkeyPatch, asked: str, pause_s: float) -> None:
    client, requests, pauses_s = served(monkeypatch, busy(asked), BmcAnswer(200, "OK", b'{"Id": "1"}'))
    assert client.get("/redfish/v1/") == {"Id": "1"}
    assert (len(requests), pauses_s) == (2, [pause_s])
    assert requests[0].path == "/base/redfish/v1/"


@pytest.mark.parametrize("change", [lambda c: c.post("/x", {}), lambda c: c.patch(SETTINGS, {})])
def test_a_change_is_not_repeated(monkeypatch: pytest.MonkeyPatch, change: Callable[[Redfish], None]) -> None:
    client, requests, pauses_s = served(monkeypatch, busy())
    with pytest.raises(RefusedError) as raised:
        change(client)
    assert (raised.value.status, len(requests), pauses_s) == (503, 1, [])


def test_the_etag_of_a_header_is_that_of_the_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    both = json.dumps({"@odata.etag": "own"}).encode()
    client, requests, _ = served(
        monkeypatch,
        BmcAnswer(200, "OK", b"{}", {"etag": '"7"'}),
        BmcAnswer(200, "OK", both, {"etag": "x"}),
        BmcAnswer(204, "No Content", b""),
    )
    assert client.get(SETTINGS) == {"@odata.etag": '"7"'}
    assert client.get(SETTINGS) == {"@odata.etag": "own"}
    client.patch(SETTINGS, {"Attributes": {"A": 1}}, '"7"')
    assert (requests[2].method, requests[2].headers["If-Match"], requests[2].body) == ("PATCH", '"7"', b'{"Attributes": {"A": 1}}')


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"@Message.ExtendedInfo": [{"Message": "a"}, {"MessageId": "Base.1.0.B"}]}}', "a; Base.1.0.B"),
        (b'{"error": {"message": "whole"}}', "whole"),
        (b'{"error": 5}', "Bad Request"),
        (b"<html>", "Bad Request"),
        (b"[" * 100_000, "Bad Request"),
    ],
)
def test_a_refusal_has_the_words_of_the_bmc(monkeypatch: pytest.MonkeyPatch, body: bytes, message: str) -> None:
    client, _, _ = served(monkeypatch, BmcAnswer(400, "Bad Request", body))
    with pytest.raises(RefusedError) as raised:
        client.patch(SETTINGS, {})
    assert (raised.value.status, raised.value.message) == (400, message)
    assert "planted" not in str(raised.value)


@pytest.mark.parametrize("path", ["https://192.0.2.9/x", "//192.0.2.9/x", "", "x"])
def test_no_request_leaves_for_another_host(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    client, requests, _ = served(monkeypatch)
    for call in (lambda: client.get(path), lambda: client.patch(path, {}), lambda: client.post(path, {})):
        with pytest.raises(BmcError, match="leads to another host"):
            call()
    assert requests == []
