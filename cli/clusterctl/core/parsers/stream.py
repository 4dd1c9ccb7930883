"""STREAM: memory bandwidth of the CPUs."""

from __future__ import annotations

import re

from clusterctl.core.parsers.numbers import number
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_ROW = re.compile(r"^(Copy|Scale|Add|Triad):\s+(\S+)\s")


def parse(text: str) -> tuple[Sample, ...]:
    """`copy`, `scale`, `add`, `triad` in MB/s (10^6 bytes), best of the run.

    Raises:
        UnparsableError: a kernel is missing, or STREAM did not validate its results.
    """
    samples = []
    for line in text.splitlines():
        row = _ROW.match(line)
        value = number(row[2]) if row else None
        if row and value is not None:
            samples.append(Sample(row[1].lower(), value, "MB/s", op="stream"))
    if {s.metric for s in samples} != {"copy", "scale", "add", "triad"}:
        raise UnparsableError(tool="stream", reason="not all four kernels are in it")
    if "Solution Validates" not in text:
        raise UnparsableError(tool="stream", reason="the solution does not validate")
    return tuple(samples)
