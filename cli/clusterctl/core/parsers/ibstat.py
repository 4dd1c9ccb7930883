"""ibstat: rate and state of every port."""

from __future__ import annotations

import re

from clusterctl.core.parsers.numbers import number
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_CA = re.compile(r"^CA '([^']+)'")
_PORT = re.compile(r"^\s+Port (\d+):")
_FIELD = re.compile(r"^\s+(State|Physical state|Rate|Link layer):\s*(.+?)\s*$")


def parse(text: str) -> tuple[Sample, ...]:
    """Per port `rate` in Gb/s and `port_active` (1.0 only for State Active and LinkUp).

    Raises:
        UnparsableError: no port in it, a port cut off, or ibstat broke off (ibpanic).
    """
    panic = next((line.strip() for line in text.splitlines() if "ibpanic" in line), "")
    if panic:
        raise UnparsableError(tool="ibstat", reason=f"it broke off: {panic}")
    device = ""
    ports: list[tuple[str, dict[str, str]]] = []
    for line in text.splitlines():
        if ca := _CA.match(line):
            device = ca[1]
        elif (port := _PORT.match(line)) and device:
            ports.append((device if port[1] == "1" else f"{device}/{port[1]}", {}))
        elif (found := _FIELD.match(line)) and ports:
            ports[-1][1][found[1]] = found[2]
    if not ports:
        raise UnparsableError(tool="ibstat", reason="no port in it")
    return tuple(s for name, fields in ports for s in _samples(name, fields))


def _samples(device: str, fields: dict[str, str]) -> list[Sample]:
    rate = number(fields.get("Rate", ""))
    if rate is None or "State" not in fields or "Physical state" not in fields:
        raise UnparsableError(tool="ibstat", reason=f"{device}: the port is cut off")
    state = f"{fields['State']}, {fields['Physical state']}"
    up = float(state == "Active, LinkUp")
    layer = fields.get("Link layer", "")
    return [
        Sample("rate", rate, "Gb/s", device=device, transport=layer),
        Sample("port_active", up, "pass", device=device, status=state, transport=layer),
    ]
