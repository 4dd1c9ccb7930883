from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_equal_findings_of_many_nodes_are_one_object() -> None:
    finding = {"expected": "64", "found": "64", "hint": "", "reason": ""}
    assert read_answer(finding).findings[0] is read_answer(dict(finding)).findings[0]


def test_findings_of_nodes_that_answer_with_the_same_bytes_are_one_tuple() -> None:
    assert read_answer({"found": "64"}).findings is read_answer({"found": "64"}).findings
    assert read_answer({"found": "64"}).findings != read_answer({"found": "63"}).findings


def test_the_kept_arrays_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "_arrays", {})
    monkeypatch.setattr(answer, "_ARRAYS_AT_MOST", 3)
    assert all(read_answer({"found": f"v{i}"}).findings[0].found == f"v{i}" for i in range(10))
    assert len(answer._arrays) == 3


_HEAD = b'{"schema_version": 1, "node": "n1", "nonce": "nonce", "bundle": "%s"' % (b"b" * 64)
_ARRAY = b'[{"check": "example.a", "role": "example", "outcome": "%s", "severity": "major"}]'
_PIECES = (_HEAD, b", ", b'"findings": ', b'"view": ', _ARRAY % b"pass", _ARRAY % b"fail", b"[]", b"}", b'"', b"\\", b" ", b"1", b"\xff")


@given(st.lists(st.sampled_from(_PIECES), max_size=8))
def test_what_was_read_before_changes_no_result(pieces: list[bytes]) -> None:
    def read(*lines: bytes) -> NodeFindings:
        answer._arrays.clear()
        return [answer.from_exit(REQUEST, RemoteResult(0, line, b""), 1.0) for line in lines][-1]

    whole = [_HEAD + b', "findings": ' + array + b"}" for array in (_ARRAY % b"pass", _ARRAY % b"fail", b"[]")]
    for line in (b"".join(pieces), _HEAD + b"".join(pieces), _HEAD + b', "findings": ' + b"".join(pieces)):
        alone = read(line)
        assert read(*whole, line) == alone
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answer, "_split", lambda text: (json.loads(text), b""))
            assert read(line) == alone


@pytest.mark.parametrize(
    "line",
    [_HEAD + b', "abc\\"findings": ' + _ARRAY % b"pass" + b"}", _HEAD + b', "findings": ' + "[]".encode("utf-16-le") + b"}"],
    ids=["a key that ends so", "an array in another encoding"],
)
def test_what_a_whole_parse_refuses_is_no_answer(line: bytes) -> None:
    assert answer.from_exit(REQUEST, RemoteResult(0, line, b""), 1.0).status is NodeStatus.CRASHED


def test_a_huge_array_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "_arrays", {})
    monkeypatch.setattr(answer, "_ARRAY_LIMIT_BYTES", 200)
    assert read_answer({"found": "x" * 300}).status is NodeStatus.OK
    assert answer._arrays == {}


def test_values_that_only_look_equal_stay_distinct() -> None:
    found = [read_answer({"found": v}).findings[0].found for v in ("1", 1, True, 1.0, "1", None, ["x"])]
    assert found == ["1", "1", "True", "1.0", "1", "None", "['x']"]


def test_the_cache_of_findings_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "_known", {})
    monkeypatch.setattr(answer, "_KNOWN_AT_MOST", 10)
    finding = {"expected": "", "hint": "", "reason": ""}
    assert all(read_answer({**finding, "found": f"v{i}"}).findings[0].found == f"v{i}" for i in range(100))
    assert 0 < len(answer._known) <= 10


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


@given(st.text(), st.booleans())
def test_clean_text_is_text_that_cleaning_does_not_change(text: str, ensure_ascii: bool) -> None:
    line = json.dumps({"found": text}, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")
    if answer._is_clean(line):
        assert answer._clean(text) == text
    elif ensure_ascii and all(ord(c) < 0x10000 for c in text):
        assert answer._clean(text) != text


def test_an_escaped_backslash_does_not_escape_the_next_character() -> None:
    assert answer._is_clean(json.dumps("C:\\u001b and \\x1b").encode())
    assert not answer._is_clean(json.dumps("\\\x1b").encode())
    assert not answer._is_clean(b'"\\x41"')
