"""STREAM: memory bandwidth of the CPUs."""

from __future__ import annotations

import re

from clusterctl.core.parsers.numbers import number
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_ROW = re.compile(r"^(Copy|Scale|Add|Triad):\s+(\S+)\s")
# `Best Rate MB/s` of 5.10, `Rate (MB/s)` of older ones; HPCC's and others print GB/s (10^9 bytes).
_HEADER = re.compile(r"^Function\s+(?:Best )?Rate \(?([MG]B/s)\b")
_TO_MB = {"MB/s": 1.0, "GB/s": 1000.0}


def parse(text: str) -> tuple[Sample, ...]:
    """`copy`, `scale`, `add`, `triad` in MB/s (10^6 bytes), best of the run.

    Raises:
        UnparsableError: the unit or a kernel is missing, or STREAM did not validate its results.
    """
    samples = []
    factor = 0.0
    for line in text.splitlines():
        if header := _HEADER.match(line):
            factor = _TO_MB[header[1]]
        row = _ROW.match(line)
        value = number(row[2]) if row else None
        if row and value is not None:
            if not factor:
                raise UnparsableError(tool="stream", reason="no line names the unit of its rates")
            samples.append(Sample(row[1].lower(), value * factor, "MB/s", op="stream"))
    if {s.metric for s in samples} != {"copy", "scale", "add", "triad"}:
        raise UnparsableError(tool="stream", reason="not all four kernels are in it")
    if "Solution Validates" not in text:
        raise UnparsableError(tool="stream", reason="the solution does not validate")
    return tuple(samples)
