"""The table that dcgmi diag prints without -j; text wrapped inside its cells is put together again.

Formats: recordings of DCGM 3 and 4, and dcgmi/Diag.cpp of NVIDIA/DCGM@72fa3fe (4.6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.core.parsers.unparsable import UnparsableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = re.compile(r"^\s*\| (.{25}) \|(.*)\|\s*$")
_BORDER = re.compile(r"^\s*\+-+\+-+\+\s*$")
# Not `Diagnostic`: DCGM 3 has a test of this name, too.
_TITLE = ("Diagnostic", "Result")
_METADATA = re.compile(
    r"DCGM Version|Driver Version Detected|\w+ Device IDs Detected|Number of CPUs Detected|(?:CPU )?EUD (?:Test|Package) Version"
)
_WRAP = 46  # the text of a cell goes from column 1 to here; what is longer goes on in the next row
# DCGM 4 names the device to which a note belongs.
_NOTE = re.compile(r"(?:Warning|Error|Info)(?:: ([A-Za-z_]+?)(\d+))?")
_WORD = r"(Pass|Fail|Skip|Warn|Not Run)"
_STATUS = re.compile(_WORD + r"\w*\b(?:\s*-\s*(.*))?$", re.IGNORECASE)
# DCGM 3 has a row for each status: `Pass - GPUs: 1, 2`, and below it, without a name, `Fail - GPU: 0`.
_MORE = re.compile(_WORD + r" - (All|GPUs?: [\d, ]+)")
_PER_GPU = re.compile(r"(GPU|CPU|NVSwitch)s?\s?(\d+)\s*:\s*(\w.*?)\s*$")
_PER_DEVICE = re.compile(r"([A-Za-z_]+?)(\d+): " + _WORD)


@dataclass(slots=True)
class _Test:
    """`notes`: device -> text about it; `about`: the device that the last note names, empty for the test as a whole."""

    name: str
    verdicts: list[tuple[str, str]]
    per_gpu: list[tuple[str, str]] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    about: str = ""


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
    note = _NOTE.fullmatch(name)
    if (name, value) == _TITLE or _METADATA.fullmatch(name):
        return
    if name and not note:
        status = _STATUS.match(value)
        tests.append(_Test(name, [(status[1].capitalize(), status[2] or "") if status else (value, "")]))
    elif tests and (name or not _is_verdict(value, tests[-1])):
        test = tests[-1]
        test.about = f"{note[1].lower()}{note[2]}" if note and note[2] else "" if note else test.about
        before = test.notes.get(test.about, "")
        test.notes[test.about] = before + ("; " if name and before else "") + cell[1:_WRAP]


def _is_verdict(value: str, test: _Test) -> bool:
    """Whether a row without a name is a verdict and not the rest of a text; it is added to the test."""
    if more := _MORE.fullmatch(value):
        test.verdicts.append((more[1], more[2]))
        return True
    found = _PER_DEVICE.fullmatch(value) or (None if test.notes else _PER_GPU.match(value))
    if found:
        test.per_gpu.append((f"{found[1].lower()}{found[2]}", found[3]))
    return found is not None


def _verdicts(test: _Test) -> Iterator[tuple[str, str, str, str]]:
    notes = {about: re.sub(r"\s+", " ", text).strip() for about, text in test.notes.items()}
    text = notes.get("", "")
    for device, status in test.per_gpu:
        yield test.name, device, status, notes.get(device, text if status != "Pass" else "")
    for status, scope in test.verdicts:
        # A warning is about the devices that did not pass, where the test names them.
        own = "" if status == "Pass" and len(test.verdicts) > 1 else text
        numbers = re.findall(r"\d+", scope)
        for number in numbers:
            yield test.name, f"gpu{number}", status, own
        unexplained = status != "Pass" and all(per == "Pass" for _, per in test.per_gpu)
        if not numbers and (not test.per_gpu or unexplained):
            yield test.name, "", status, own
