"""Raw records as they are stored, and as they were before there were error codes."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from clusterctl.adapters.raw_records import read_records, record_from
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.trace_sample import TraceSample
from support.gates import links_of_gpus, record

TRACE = (TraceSample(0.0, 0.2, 0, "0, 1410"), TraceSample(5.0, 30.0, None, ""), TraceSample(35.0, 0.3, 0, "0, 1410", "gpu0"))
TIMED_OUT = replace(record("dcgm_diag", "n1", "", exit_status=None), error="timed out after 60 s", error_code=GateReason.TIMED_OUT)


@pytest.mark.parametrize(
    "stored",
    [
        TIMED_OUT,
        record("dcgm_diag", "n1", "{}"),
        record("nvbandwidth", "n1", "{}", links=links_of_gpus(2)),
        record("gpu_stress", "n1", "", trace=TRACE),
    ],
)
def test_a_record_comes_back_as_it_was_stored(stored: object) -> None:
    assert read_records(json.dumps(asdict(stored))) == (stored,)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("", None),
        ("dcgmi: not installed", GateReason.NOT_INSTALLED),
        ("timed out after 90 s", GateReason.TIMED_OUT),
        ("time limit of the node's plan reached", GateReason.TIMED_OUT),
        ("ended by signal 9", GateReason.KILLED),
        ("interrupted", GateReason.INTERRUPTED),
        ("n2 never answered at 10.0.0.2 port 18514", GateReason.PEER_SILENT),
        ("n2 stopped answering", GateReason.PEER_SILENT),
        ("n2 went on without this node", GateReason.PEER_AHEAD),
        ("cannot listen on port 18514: [Errno 98]", GateReason.PORT_TAKEN),
        ("another burn-in runs on this node (run r1, pid 7)", GateReason.NODE_BUSY),
        ("agent: OSError: no space", GateReason.AGENT_FAILED),
        ("no record came back: node unreachable: timed out after 10 s", GateReason.NODE_UNREACHABLE),
        ("no record came back: the measuring play timed out: stopped after 9 s", GateReason.TIMED_OUT),
        ("no record came back: the measuring play never reached the node", GateReason.NO_RECORD),
    ],
)
def test_an_old_record_gets_its_code_from_its_text(error: str, code: GateReason | None) -> None:
    old = {k: v for k, v in asdict(replace(TIMED_OUT, error=error)).items() if k not in ("error_code", "links", "trace")}
    assert record_from({**old, "argv": [], "peers": []}).error_code is code


@pytest.mark.parametrize("code", ["lost", 7, ["timed_out"]])
def test_an_unknown_code_is_no_record(code: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 of the enum, or of the type
        record_from({**asdict(TIMED_OUT), "argv": [], "peers": [], "links": [], "trace": [], "error_code": code})


GOOD = record("nccl_node", "n1", "{}")


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        '{"a":' * 100_000,
        json.dumps({**asdict(GOOD), "duration_s": float("nan")}),
        json.dumps({**asdict(GOOD), "duration_s": float("inf")}),
        json.dumps(asdict(GOOD)).replace('"duration_s": 1.0', '"duration_s": 1e999'),
        json.dumps({**asdict(GOOD), "exit_status": 10**400}),
        json.dumps(asdict(GOOD)).replace('"duration_s": 1.0', f'"duration_s": {"9" * 5000}'),
        json.dumps({**asdict(GOOD), "stdout": None}),
        "null",
    ],
    ids=lambda line: line[:20],
)
def test_a_malformed_line_costs_its_own_step_only(line: str) -> None:
    assert read_records(f"{line}\n{json.dumps(asdict(GOOD))}\n{line}") == (GOOD,)


def test_half_a_character_pair_can_be_stored() -> None:
    (found,) = read_records(json.dumps(asdict(replace(GOOD, stdout="a\ud800b", argv=("x\udfff",)))))
    assert (found.stdout, found.argv) == ("a\\ud800b", ("x\\udfff",))
    found.stdout.encode()


HOP = asdict(links_of_gpus(1)[0])


@pytest.mark.parametrize(
    "links",
    [
        {},
        "none",
        [7],
        [{}],
        [{**HOP, "more": 1}],
        [{**HOP, "width": "16"}],
        [{**HOP, "width": True}],
        [{**HOP, "samples": -1}],
        [{**HOP, "samples": None}],
        [{**HOP, "speed_gts": 1e300}],
        [{**HOP, "lower": None}],
        [HOP] * 5000,
    ],
)
def test_links_that_are_none_are_no_record(links: object) -> None:
    good = {**asdict(GOOD), "argv": [], "peers": [], "trace": []}
    assert record_from({**good, "links": [{**HOP, "width": None}]}).links[0].width is None
    with pytest.raises(ValueError, match="links"):
        record_from({**good, "links": links})


SAMPLE = asdict(TRACE[0])


@pytest.mark.parametrize(
    "trace",
    [
        {},
        [7],
        [{}],
        [{**SAMPLE, "more": 1}],
        [{**SAMPLE, "took_s": "1"}],
        [{**SAMPLE, "took_s": -1}],
        [{**SAMPLE, "stdout": None}],
        [{**SAMPLE, "device": 3}],
        [{k: v for k, v in SAMPLE.items() if k != "stdout"}],
        [SAMPLE] * 20001,
    ],
)
def test_a_trace_that_is_none_is_no_record(trace: object) -> None:
    good = {**asdict(GOOD), "argv": [], "peers": [], "links": []}
    assert record_from({**good, "trace": [SAMPLE]}).trace == TRACE[:1]
    with pytest.raises(ValueError, match="trace"):
        record_from({**good, "trace": trace})


def test_a_trace_of_an_older_run_is_about_all_devices() -> None:
    old = {k: v for k, v in SAMPLE.items() if k != "device"}
    assert record_from({**asdict(GOOD), "argv": [], "peers": [], "links": [], "trace": [old]}).trace == TRACE[:1]
