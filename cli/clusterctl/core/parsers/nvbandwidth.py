"""nvbandwidth: the JSON of -j, or its text."""

from __future__ import annotations

import re
from typing import Any

from clusterctl.core.parsers.numbers import first_json, number
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_TOOL = "nvbandwidth"
_RUNNING = re.compile(r"^\s*Running (\w+)\.")
_DESCRIPTION = re.compile(r"\((GB/s|ns)\)\s*$")
# Of three matrices of a testcase that copies in both directions at once, in this order (NVIDIA/nvbandwidth@66746a3, testcases_ce.cpp): the last is their sum.
_ONE_OF_TWO = re.compile(r" (?:Read|Write)[12] bandwidth")
_BETWEEN_GPUS = "device_to_device"
_DETAIL_LIMIT = 300
_HEADER = re.compile(r"^\s+\d+(\s+\d+)*\s*$")


def parse(text: str) -> tuple[Sample, ...]:
    """One sample per cell of every testcase's matrix, named as the testcase; `device` is the GPU measured, `peer_device` the other.

    A testcase between GPUs that copies in both directions gives the sum of both; its JSON has the matrices of each below one another, before that of the sum.
    A testcase that did not pass gives a sample of value 0 with its `status`; the tool's own error one named `error`.

    Raises:
        UnparsableError: neither JSON nor text of nvbandwidth, cut off, or without a number.
    """
    samples = _from_json(text) if re.search(r"^[ \t]*\{", text, re.MULTILINE) else _from_text(text)
    if not samples:
        raise UnparsableError(tool=_TOOL, reason="it holds no number")
    return tuple(samples)


def _from_json(text: str) -> list[Sample]:
    try:
        root = first_json(text).get("nvbandwidth")
    except ValueError as e:
        raise UnparsableError(tool=_TOOL, reason=f"the JSON is broken or cut off ({e})") from e
    if not isinstance(root, dict) or not isinstance(root.get("testcases"), list):
        raise UnparsableError(tool=_TOOL, reason="JSON without nvbandwidth.testcases")
    samples: list[Sample] = []
    if root.get("error"):
        samples.append(Sample("error", 1.0, "errors", status="Error", detail=str(root["error"]).strip()[:_DETAIL_LIMIT]))
    for case in (c for c in root["testcases"] if isinstance(c, dict)):
        name, status = str(case.get("name") or "unnamed"), str(case.get("status") or "no status")
        if status != "Passed":
            detail = str(case.get("error") or "").strip()[:_DETAIL_LIMIT]
            samples.append(Sample(name, 0.0, "GB/s", op=name, status=status, detail=detail))
            continue
        unit = _DESCRIPTION.search(str(case.get("bandwidth_description") or ""))
        matrix = case.get("bandwidth_matrix")
        samples += _cells(name, unit[1] if unit else "GB/s", _last_matrix(name, matrix) if isinstance(matrix, list) else [])
    return samples


def _last_matrix(name: str, rows: list[Any]) -> list[Any]:
    """The last of several matrices that stand below one another; between GPUs each has as many rows as columns."""
    columns = len(rows[-1]) if rows and isinstance(rows[-1], list) else 0
    several = name.startswith(_BETWEEN_GPUS) and columns and len(rows) > columns and not len(rows) % columns
    return rows[-columns:] if several else rows


def _cells(name: str, unit: str, matrix: list[Any]) -> list[Sample]:
    samples = []
    for row, cells in enumerate(matrix):
        for column, cell in enumerate(cells if isinstance(cells, list) else []):
            value = number(cell)
            between_gpus = name.startswith(_BETWEEN_GPUS)
            if value is None or (between_gpus and row == column and value == 0):
                continue
            device = f"gpu{row if between_gpus else column}"
            samples.append(Sample(name, value, unit, device=device, peer_device=f"gpu{column}" if between_gpus else "", op=name))
    return samples


def _from_text(text: str) -> list[Sample]:
    samples: list[Sample] = []
    name, unit, width, part = "", "GB/s", 0, False
    matrix: list[list[str]] = []
    for line in [*text.splitlines(), "Running end."]:
        words = line.split()
        running, described = _RUNNING.match(line), _DESCRIPTION.search(line)
        if running or described:
            cut_off = matrix and name.startswith(_BETWEEN_GPUS) and len(matrix) != width
            if cut_off or (running and part):
                raise UnparsableError(tool=_TOOL, reason=f"the matrix of {name} is cut off")
        if running:
            samples += _cells(name, unit, matrix)
            name, width, matrix, part = running[1], 0, [], False
        elif described:
            unit, width, matrix, part = described[1], 0, [], bool(_ONE_OF_TWO.search(line))
        elif name and not width and _HEADER.match(line):
            width = len(words)
        elif width and len(words) == width + 1 and words[0] == str(len(matrix)):
            matrix.append(words[1:])
    return samples
