from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.ssh.remote_result import RemoteResult
from clusterctl.adapters.validators import answer, sent_findings
from clusterctl.adapters.validators.request import BundleRequest
from clusterctl.core.redact import MASK
from support.fake_answers import PASS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.model.findings import NodeFindings
    from clusterctl_validators.finding import Finding

REQUEST = BundleRequest("n1", "nonce", "b" * 64, ("example",), b"")
_HEAD = b'{"schema_version": 1, "node": "n1", "nonce": "nonce", "bundle": "%s"' % (b"b" * 64)
_BEFORE = _HEAD + b', "findings": '
_OBJECT = b'{"check": "example.a", "role": "example", "outcome": "%s", "severity": "major"}'
_ARRAY = b"[" + _OBJECT + b"]"
_KEYS = (_HEAD, b", ", b'"findings": ', b'"view": ', b'"found": "')
_VALUES = (_ARRAY % b"pass", _ARRAY % b"fail", _OBJECT % b"pass", _OBJECT % b"fail", b"[]", b"1")
_PIECES = (*_KEYS, *_VALUES, b'}, {"', b"}, {", b"{", b"}", b"[", b"]", b'"', b"\\", b" ", b"\x00", b"\xff", b"\xed\xa0\x80")
_SPLITTING = st.text() | st.lists(st.sampled_from(["}, {", '"', "\\", ", ", "}]", "[{", "a", "\x1b", "\ud800"])).map("".join)


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    sent_findings._arrays.clear()
    sent_findings._parts.clear()


def array(*findings: dict[str, Any], ensure_ascii: bool = True) -> bytes:
    entries = [{**PASS, "check": "example.a", **one} for one in findings]
    return json.dumps(entries, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")


def read(*arrays: bytes) -> NodeFindings:
    """What is read from the last of these arrays, after the others."""
    return read_lines(*(_BEFORE + one + b"}" for one in arrays))


def read_lines(*lines: bytes) -> NodeFindings:
    return [answer.from_exit(REQUEST, RemoteResult(0, line, b""), 1.0) for line in lines][-1]


def read_whole(line: bytes) -> NodeFindings:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer, "from_array", lambda _array: None)
        return read_lines(line)


def test_equal_findings_of_many_nodes_are_one_object() -> None:
    first, second = read(array({"found": "64"}, {"found": "1"})), read(array({"found": "64"}, {"found": "2"}))
    assert first.findings[0] is second.findings[0]
    assert first.findings[1] != second.findings[1]


def test_findings_of_nodes_that_answer_with_the_same_bytes_are_one_tuple() -> None:
    assert read(array({"found": "64"})).findings is read(array({"found": "64"})).findings
    assert read(array({"found": "64"})).findings != read(array({"found": "63"})).findings


def test_only_what_differs_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*map(str, range(50)), json.dumps([{"device": "mlx5_0"}, {"device": "mlx5_1"}])]
    read(array(*({"found": text} for text in texts)))
    parsed: list[bytes] = []
    original = sent_findings._read

    def counted(part: bytes) -> Finding:
        parsed.append(part)
        return original(part)

    monkeypatch.setattr(sent_findings, "_read", counted)
    texts[7] = "seven"
    assert [f.found for f in read(array(*({"found": text} for text in texts))).findings] == texts
    assert len(parsed) == 1


@given(st.lists(st.sampled_from(_PIECES), max_size=8))
def test_what_was_read_before_changes_no_result(pieces: list[bytes]) -> None:
    known = [_BEFORE + one + b"}" for one in (_ARRAY % b"pass", _ARRAY % b"fail", b"[]")]
    for line in (b"".join(pieces), _HEAD + b"".join(pieces), _BEFORE + b"".join(pieces), _BEFORE + b"[{" + b"".join(pieces) + b"}]}"):
        forget()
        alone = read_lines(line)
        assert read_lines(*known, line) == alone
        assert read_whole(line) == alone


@given(
    st.lists(st.lists(st.fixed_dictionaries({"found": _SPLITTING, "hint": _SPLITTING}), max_size=4), min_size=1, max_size=4), st.booleans()
)
def test_findings_read_by_parts_are_those_of_the_whole(answers: list[list[dict[str, str]]], ensure_ascii: bool) -> None:
    arrays = [array(*one, ensure_ascii=ensure_ascii) for one in answers]
    assert read(*arrays) == read_whole(_BEFORE + arrays[-1] + b"}")


def test_the_kept_arrays_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_findings, "_ARRAYS_AT_MOST", 3)
    assert all(read(array({"found": f"v{i}"})).findings[0].found == f"v{i}" for i in range(10))
    assert len(sent_findings._arrays) == 3


def test_the_kept_findings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_findings, "_PARTS_AT_MOST", 10)
    assert all(read(array({"found": f"v{i}"})).findings[0].found == f"v{i}" for i in range(100))
    assert 0 < len(sent_findings._parts) <= 10


@pytest.mark.parametrize(("limit", "kept"), [("_ARRAY_LIMIT_BYTES", "_arrays"), ("_PART_LIMIT_BYTES", "_parts")])
def test_what_is_huge_is_not_kept(monkeypatch: pytest.MonkeyPatch, limit: str, kept: str) -> None:
    monkeypatch.setattr(sent_findings, limit, 200)
    assert read(array({"found": "x" * 300})).findings[0].found == "x" * 300
    assert getattr(sent_findings, kept) == {}


def test_the_password_of_an_address_is_no_part_of_a_finding() -> None:
    told = array(
        {"expected": "https://user:hunter2@mirror.example.org/cuda", "found": "missing: https://user:hunter2@mirror.example.org/cuda"}
    )
    [found] = read(told).findings
    assert (found.expected, found.found) == (
        f"https://user:{MASK}@mirror.example.org/cuda",
        f"missing: https://user:{MASK}@mirror.example.org/cuda",
    )
