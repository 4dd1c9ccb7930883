from __future__ import annotations

import json
from typing import Any

import pytest

from clusterctl.adapters.ssh.remote_result import RemoteResult
from clusterctl.adapters.validators import answer
from clusterctl.adapters.validators.request import BundleRequest
from clusterctl.model.findings import NodeFindings, NodeStatus
from support.fake_answers import PASS, answer_to

REQUEST = BundleRequest("n1", "nonce", "b" * 64, ("example",), b"")


def read_answer(*findings: dict[str, Any], ensure_ascii: bool = True) -> NodeFindings:
    request = {"roles": {}, "node": "n1", "nonce": "nonce"}
    data = answer_to(request, REQUEST.bundle) | {"findings": [{**PASS, "check": "example.a", **f} for f in findings]}
    return answer.from_exit(REQUEST, RemoteResult(0, json.dumps(data, ensure_ascii=ensure_ascii).encode(), b""), 1.0)


_HEAD = b'{"schema_version": 1, "node": "n1", "nonce": "nonce", "bundle": "%s"' % (b"b" * 64)
_ARRAY = b'[{"check": "example.a", "role": "example", "outcome": "%s", "severity": "major"}]'


@pytest.mark.parametrize(
    "line",
    [_HEAD + b', "abc\\"findings": ' + _ARRAY % b"pass" + b"}", _HEAD + b', "findings": ' + "[]".encode("utf-16-le") + b"}"],
    ids=["a key that ends so", "an array in another encoding"],
)
def test_what_a_whole_parse_refuses_is_no_answer(line: bytes) -> None:
    assert answer.from_exit(REQUEST, RemoteResult(0, line, b""), 1.0).status is NodeStatus.CRASHED


@pytest.mark.parametrize(
    ("told", "uptime_s"),
    [(12.5, 12.5), (0, 0.0), (None, None), (-1, None), (True, None), ("12", None), (float("nan"), None), (1e300, None)],
    ids=repr,
)
def test_only_a_time_is_an_uptime(told: object, uptime_s: float | None) -> None:
    data = answer_to({"roles": {}, "node": "n1", "nonce": "nonce"}, REQUEST.bundle) | {"uptime_s": told, "findings": []}
    assert answer.from_exit(REQUEST, RemoteResult(0, json.dumps(data).encode(), b""), 1.0).uptime_s == uptime_s


@pytest.mark.parametrize(
    ("reported", "kind"),
    [("tmpfs", "tmpfs"), ("rootfs", "rootfs"), ("", ""), (None, ""), ("ext4", ""), (["tmpfs"], ""), ("tmpfs\x1b", "")],
    ids=repr,
)
def test_only_a_known_type_is_a_root_that_no_boot_keeps(reported: object, kind: str) -> None:
    data = answer_to({"roles": {}, "node": "n1", "nonce": "nonce"}, REQUEST.bundle) | {"volatile_root": reported, "findings": []}
    assert answer.from_exit(REQUEST, RemoteResult(0, json.dumps(data).encode(), b""), 1.0).volatile_root == kind


@pytest.mark.parametrize("said", ["schema_version", "node", "role"])
def test_why_an_answer_is_none_is_short(said: str) -> None:
    """A line of megabytes would hide the other nodes."""
    data = answer_to({"roles": {}, "node": "n1", "nonce": "nonce"}, REQUEST.bundle) | {
        "findings": [{**PASS, "check": "a", "role": "x" * 9000}]
    }
    line = json.dumps(data | ({} if said == "role" else {said: "x" * 9000})).encode()
    assert 0 < len(answer.from_exit(REQUEST, RemoteResult(0, line, b""), 1.0).detail) <= 500


def test_values_that_only_look_equal_stay_distinct() -> None:
    found = [read_answer({"found": v}).findings[0].found for v in ("1", 1, True, 1.0, "1", None, ["x"])]
    assert found == ["1", "1", "True", "1.0", "1", "None", "['x']"]


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize(
    ("sent", "result"),
    [
        ('64 pages\n\t"of" 1G \\ C:\\u001b', '64 pages\n\t"of" 1G \\ C:\\u001b'),
        ("\x1b[2J", "\ufffd[2J"),
        ("a\rb\x00\x7f\b\f", "a\ufffdb\ufffd\ufffd\ufffd\ufffd"),
        ("grün", "grün"),
        ("\u202eevil", "\ufffdevil"),
        ("\\\x1b", "\\\ufffd"),
    ],
)
def test_only_harmful_characters_are_replaced(sent: str, result: str, ensure_ascii: bool) -> None:
    found = read_answer({"found": sent}, ensure_ascii=ensure_ascii)
    assert (found.status, [f.found for f in found.findings]) == (NodeStatus.OK, [result])
