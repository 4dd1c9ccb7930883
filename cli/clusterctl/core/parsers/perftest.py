"""perftest: ib_{write,send,read}_{bw,lat}, all sizes, Gb/s and MB/s, bidirectional."""

from __future__ import annotations

import re
from functools import lru_cache

from clusterctl.core.parsers.numbers import bytes_of_message, number
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_TOOL = "perftest"
_TITLE = re.compile(r"^\s*(RDMA_Write|RDMA_Read|Send|Atomic\w*)\s+(?:Post List\s+)?(Bidirectional\s+)?(BW|Latency) Test")
_DEVICE = re.compile(r"\bDevice\s*:\s*(\S+)")
_COLUMN = re.compile(
    r"#bytes|#iterations|BW \w{1,20}\[[^\]]{1,20}\]|MsgRate\[[^\]]{1,20}\]|tps average|(?<![\w.%])[\w.%]{1,20}(?: percentile)?\[[^\]]{1,20}\]"
)
_FAILURE = re.compile(
    r"completion with error|failed status|couldn't|could not|unable to|problems? with|failed to|not found|"
    r"state is (?!active)|connection refused|unexpected cm event|mismatch",
    re.IGNORECASE,
)
# With these the run goes on: a driver of other hardware that is configured and not installed (linux-rdma/perftest issue 262), memory that stays where it is, and
# two adapters of which one lacks a feature (linux-rdma/perftest@00b55b6, perftest_resources.c and perftest_parameters.c). Some are on stderr: seen where both
# streams are in one file.
_WARNING = re.compile(r"\s*(?:(?:libibverbs: )?Warning: |OOO_RECV_WRS mismatch, disabling enhanced reorder)", re.IGNORECASE)
# What every line that _FAILURE matches contains: most outputs have none of these, and need not be searched line by line.
_FAILURE_WORDS = ("error", "fail", "could", "unable", "problem", "not found", "state is", "refused", "unexpected", "mismatch")
_OPS = {"RDMA_Write": "ib_write", "RDMA_Read": "ib_read", "Send": "ib_send"}
_TO_GBPS = {"Gb/sec": 1.0, "MB/sec": 8 * 1048576 / 1e9, "MiB/sec": 8 * 1048576 / 1e9, "GB/sec": 8.0}
_LATENCY = {
    "t_min": "latency_min",
    "t_max": "latency_max",
    "t_typical": "latency_typical",
    "t_avg": "latency_average",
    "t_stdev": "latency_stdev",
    "99% percentile": "latency_p99",
    "99.9% percentile": "latency_p99.9",
}


def parse(text: str) -> tuple[Sample, ...]:
    """`bandwidth_average`, `bandwidth_peak` in Gb/s and `message_rate` in Mpps, or `latency_*` in us, per message size.

    A peak of 0.00 means that it was not measured (-D): it is left out. MB/s are 2^20 bytes, as perftest counts them.

    Raises:
        UnparsableError: no result row, no closing line, or a line that reports a failed run.
    """
    op = device = ""
    columns: list[str] = []
    samples: list[Sample] = []
    is_open = False
    lower = text.lower()
    suspicious = any(word in lower for word in _FAILURE_WORDS)
    failures = [line.strip() for line in text.splitlines() if _FAILURE.search(line) and not _WARNING.match(line)] if suspicious else []
    for line in text.splitlines():
        if title := _TITLE.match(line):
            kind = "bw" if title[3] == "BW" else "lat"
            op = f"{_OPS.get(title[1], 'ib_atomic')}_{kind}{'_bidirectional' if title[2] else ''}"
            columns = []
        elif "Device" in line and (found := _DEVICE.search(line)):
            device = found[1]
        elif line.lstrip().startswith("#bytes"):
            columns = _columns(line)
        elif line.lstrip().startswith("-----"):
            is_open = False
        elif columns and (row := _row(line, columns, op, device)):
            samples += row
            is_open = True
    if failures:
        raise UnparsableError(tool=_TOOL, reason=f"it prints: {failures[0][:200]}")
    if not samples:
        raise UnparsableError(tool=_TOOL, reason="no result row")
    if is_open:
        raise UnparsableError(tool=_TOOL, reason="the closing line is missing; the run was cut off")
    return tuple(dict.fromkeys(samples))


@lru_cache(maxsize=64)
def _columns(line: str) -> list[str]:
    return _COLUMN.findall(line)


def _row(line: str, columns: list[str], op: str, device: str) -> list[Sample]:
    words = line.split()
    size = bytes_of_message(words[0]) if words else None
    if size is None or len(words) != len(columns):
        return []
    samples = []
    for column, word in zip(columns, words, strict=True):
        named = _metric(column)
        value = number(word)
        if named is None or value is None:
            continue
        metric, unit, factor = named
        if metric == "bandwidth_peak" and value == 0:
            continue
        samples.append(Sample(metric, value * factor, unit, device=device, size_bytes=size, op=op))
    return samples


@lru_cache(maxsize=64)
def _metric(column: str) -> tuple[str, str, float] | None:
    name, _, unit = column.rstrip("]").partition("[")
    if name in ("BW peak", "BW average") and unit in _TO_GBPS:
        return f"bandwidth_{name[3:]}", "Gb/s", _TO_GBPS[unit]
    if name == "MsgRate" and unit == "Mpps":
        return "message_rate", "Mpps", 1.0
    if name in _LATENCY and unit == "usec":
        return _LATENCY[name], "us", 1.0
    return None
