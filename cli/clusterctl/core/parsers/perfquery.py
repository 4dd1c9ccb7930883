"""perfquery: port counters. They count since the last clear: only their increase is meaningful."""

from __future__ import annotations

import re

from clusterctl.core.parsers.numbers import whole
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_TITLE = re.compile(r"^#\s*Port.*?counters: Lid (\d+) port (\d+)")
_COUNTER = re.compile(r"^(\w+):\.*(\d+)$")
_SELECTORS = ("PortSelect", "CounterSelect", "CounterSelect2")


def parse(text: str) -> tuple[Sample, ...]:
    """One sample per counter, in counts; `device` is `lid<LID>/<port>`. PortXmitData and PortRcvData count 4-byte words.

    Raises:
        UnparsableError: no title line, or no counter below it.
    """
    device = ""
    samples = []
    for line in text.splitlines():
        if title := _TITLE.match(line):
            device = f"lid{title[1]}/{title[2]}"
        elif (counter := _COUNTER.match(line.strip())) and device and counter[1] not in _SELECTORS:
            value = whole(counter[2])
            if value is not None:
                samples.append(Sample(counter[1], float(value), "count", device=device))
    if not samples:
        raise UnparsableError(tool="perfquery", reason="no counter in it")
    return tuple(samples)
