"""The table that dcgmi diag prints without -j; text wrapped inside its cells is put together again."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.core.parsers.unparsable import UnparsableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = re.compile(r"^\s*\| (.{25}) \|(.*)\|\s*$")
_BORDER = re.compile(r"^\s*\+-+\+-+\+\s*$")
_METADATA = ("Diagnostic", "DCGM Version", "Driver Version Detected", "GPU Device IDs Detected", "EUD Test Version")
_WRAP = 46  # the text of a cell goes from column 1 to here; what is longer goes on in the next row
_NOTES = ("Warning", "Error", "Info")
_STATUS = re.compile(r"(Pass|Fail|Skip|Warn|Not Run)\w*\b(?:\s*-\s*(.*))?$", re.IGNORECASE)
_PER_GPU = re.compile(r"(GPU|CPU|NVSwitch)s?\s?(\d+)\s*:\s*(\w.*?)\s*$")


@dataclass(slots=True)
class _Test:
    name: str
    status: str
    scope: str
    per_gpu: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""


def rows(text: str) -> list[tuple[str, str, str, str]]:
    """(test, device, status, text) of every verdict in the table.

    Raises:
        UnparsableError: the table does not end with its border.
    """
    tests: list[_Test] = []
    closed = False
    for line in text.splitlines():
        if _BORDER.match(line):
            closed = True
        elif row := _ROW.match(line):
            closed = False
            _take(row[1].strip(), row[2], tests)
        elif line.strip().startswith(("|-----", "+-----")):
            closed = False
    if not closed:
        raise UnparsableError(tool="dcgmi_diag", reason="the table does not end with its border; it was cut off")
    return [verdict for test in tests for verdict in _verdicts(test)]


def _take(name: str, cell: str, tests: list[_Test]) -> None:
    value = cell.strip()
    if name in _METADATA:
        return
    if name and name not in _NOTES:
        status = _STATUS.match(value)
        tests.append(_Test(name, status[1].capitalize() if status else value, (status[2] or "") if status else ""))
    elif tests and (gpu := _PER_GPU.match(value)) and not name and not tests[-1].text:
        tests[-1].per_gpu.append((f"{gpu[1].lower()}{gpu[2]}", gpu[3]))
    elif tests:
        separator = "; " if name and tests[-1].text else ""
        tests[-1].text += separator + cell[1:_WRAP]


def _verdicts(test: _Test) -> Iterator[tuple[str, str, str, str]]:
    text = re.sub(r"\s+", " ", test.text).strip()
    for device, status in test.per_gpu:
        yield test.name, device, status, text if status != "Pass" else ""
    numbers = re.findall(r"\d+", test.scope)
    for number in numbers:
        yield test.name, f"gpu{number}", test.status, text
    unexplained = test.status != "Pass" and all(status == "Pass" for _, status in test.per_gpu)
    if not numbers and (not test.per_gpu or unexplained):
        yield test.name, "", test.status, text
