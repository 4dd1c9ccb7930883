from __future__ import annotations

from contextlib import suppress
from math import isfinite
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.core.parsers import TOOLS, UnparsableError, parse_output
from clusterctl.model.errors import UsageProblemError
from clusterctl.model.exit_codes import ExitCode
from support.gates import CASES, case_names, load_case
from support.plain_yaml import load_yaml
from support.recorded import recorded

if TYPE_CHECKING:
    from clusterctl.model.gate_result import Sample

RECORDINGS = load_yaml((CASES / "parsers" / "recordings.yml").read_text())


def matches(sample: Sample, wanted: dict[str, Any]) -> bool:
    for key, value in wanted.items():
        found = getattr(sample, key)
        found = list(found) if isinstance(found, tuple) else found
        if found != (pytest.approx(value, rel=1e-3) if isinstance(value, float) else value):
            return False
    return True


def check(text: str, case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(UnparsableError) as told:
            parse_output(case["tool"], text)
        assert case["error"] in str(told.value)
        assert told.value.exit_code is ExitCode.CONFIG
        return
    samples = parse_output(case["tool"], text)
    for wanted in case.get("samples", ()):
        assert any(matches(s, wanted) for s in samples), wanted
    if "count" in case:
        assert len(samples) == case["count"]


@pytest.mark.parametrize("name", case_names("parsers"))
def test_case(name: str) -> None:
    check((CASES / "parsers" / name / "input.txt").read_text(encoding="utf-8"), load_case("parsers", name))


@pytest.mark.parametrize("case", RECORDINGS, ids=lambda c: c["file"])
def test_recording(case: dict[str, Any]) -> None:
    check(recorded(case["file"]).read_text(encoding="utf-8", errors="replace"), case)


FRAGMENTS = st.sampled_from(
    [
        '{"DCGM Diagnostic": ',
        '{"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "memory", "results": [{"status": 3}]}]}]}}',
        '{"nvbandwidth": {"testcases": [{"name": "a", "status": "Passed", "bandwidth_matrix": [[1, null], "x", {}]}]}}',
        '{"jobs": [{"read": {"total_ios": 1e400}}]}',
        "[" * 3000,
        '{"a": ' * 3000,
        "9" * 5000,
        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
        "  8589934592 2147483648 float sum -1 31517 272.55 476.96 0 31516 272.56 476.98 0",
        "# Out of bounds values : 0 OK",
        "# Avg bus bandwidth : nan",
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
        " 65536 1 1e999 -1 nan",
        "-----",
        "CA 'mlx5_0'",
        "\tPort 1:",
        "\t\tRate: 400",
        "| memory                    | Fail                                           |",
        "+---------------------------+------------------------------------------------+",
        "Running device_to_device_memcpy_read_ce.",
        "           0         1",
        " 0    1.0   2.0",
        "Copy: 1 2 3",
        "index, a [W]\n0, 1, 2",
        "\x00\ufffd\ud7ff",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(TOOLS)), st.lists(st.one_of(st.text(max_size=40), FRAGMENTS), max_size=8))
def test_any_text_gives_samples_or_a_reason(tool: str, lines: list[str]) -> None:
    try:
        samples = parse_output(tool, "\n".join(lines))
    except UnparsableError:
        return
    assert samples
    assert all(isinstance(s.value, float) and isfinite(s.value) for s in samples)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([c for c in RECORDINGS if "error" not in c]), st.floats(0.0, 0.98))
def test_a_cut_off_recording_is_a_reason_or_fewer_samples(case: dict[str, Any], part: float) -> None:
    text = recorded(case["file"]).read_text(encoding="utf-8", errors="replace")
    try:
        samples = parse_output(case["tool"], text[: int(len(text) * part)])
    except UnparsableError:
        return
    assert len(samples) <= len(parse_output(case["tool"], text))


def test_an_unknown_tool_is_a_usage_error_that_lists_the_tools() -> None:
    with pytest.raises(UsageProblemError, match="unknown tool 'iperf'") as told:
        parse_output("iperf", "x")
    assert "nccl_tests" in told.value.hint


def test_the_node_is_written_into_each_sample() -> None:
    text = (CASES / "parsers" / "nvbandwidth_text" / "input.txt").read_text()
    assert {s.node for s in parse_output("nvbandwidth", text, node="r12-n01")} == {"r12-n01"}


@pytest.mark.parametrize(
    "start",
    ["", "index, name [MiB]\n", "#       size         count      type     time   algbw   busbw #wrong\n", "| Diagnostic | Result |\n"],
)
@pytest.mark.parametrize("filler", ["[", "(", "{", "|", " ", "\n", "0 ", "a [", "NET/", "Pass - "])
@pytest.mark.parametrize("tool", TOOLS)
def test_no_input_takes_long(tool: str, filler: str, start: str) -> None:
    began = process_time()
    with suppress(UnparsableError):
        parse_output(tool, start + filler * (60_000 // len(filler)))
    assert process_time() - began < 1
