"""Diagnostics of vendors: the messages of OCP Test & Validation 2.0, or the last word of NVIDIA's Field Diagnostic (PASS, FAIL, RETEST)."""

from __future__ import annotations

import json
import re
from typing import Any

from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

_TOOL = "vendor_diag"
INCOMPLETE = "incomplete"
_TEXT_LIMIT = 300
# A line with nothing but the word, or with "result" before it: what NVIDIA documents is the words, how a line looks is not confirmed.
_WORD = re.compile(r"(?:(?:final|overall|test) )?(?:(?:result|status) ?[:=] ?)?(pass|fail|retest)(?:ed)?")
_LONGEST_LINE = 80
_WORST_FIRST = ("FAIL", "RETEST", "PASS")


def parse(text: str) -> tuple[Sample, ...]:
    """A sample `diagnosis` for each part that was judged, and `result` for the whole run: value 1.0 only for PASS, `status` the vendor's own word.

    The status of `result` is INCOMPLETE where messages of OCP Test & Validation are missing, its end among them.

    Raises:
        UnparsableError: it has neither such messages nor such a word.
    """
    messages = _messages(text)
    if messages:
        return _from_messages(messages)
    words = {found[1].upper() for line in text.splitlines() if (found := _word(line))}
    if not words:
        raise UnparsableError(tool=_TOOL, reason="neither messages of OCP Test & Validation nor a line PASS, FAIL or RETEST")
    return (_sample("result", next(word for word in _WORST_FIRST if word in words)),)


def _word(line: str) -> re.Match[str] | None:
    """The verdict of a line that has nothing else but rules around it."""
    return _WORD.fullmatch(line.strip(" \t*#=-|+_.!").lower()) if len(line) <= _LONGEST_LINE else None


def _messages(text: str) -> list[dict[str, Any]]:
    """The lines that are messages. A line that is cut off is none, so the end of its run is missing."""
    found = []
    for line in text.splitlines():
        try:
            message = json.loads(line) if line.lstrip().startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict) and message.keys() & {"schemaVersion", "testRunArtifact", "testStepArtifact"}:
            found.append(message)
    return found


def _from_messages(messages: list[dict[str, Any]]) -> tuple[Sample, ...]:
    parts: dict[str, str] = {}
    samples: list[Sample] = []
    result = _sample("result", INCOMPLETE)
    for message in messages:
        run, step = _dict(message, "testRunArtifact"), _dict(message, "testStepArtifact")
        for info in _dicts(_dict(_dict(run, "testRunStart"), "dutInfo"), "hardwareInfos"):
            parts[str(info.get("hardwareInfoId"))] = _text(info, "name")
        if diagnosis := _dict(step, "diagnosis"):
            samples.append(_diagnosis(diagnosis, parts))
        samples += [
            _sample("diagnosis", "ERROR", detail=_text_of(error, "symptom"))
            for error in (_dict(run, "error"), _dict(step, "error"))
            if error
        ]
        if end := _dict(run, "testRunEnd"):
            complete = end.get("status") == "COMPLETE"
            result = _sample("result", _text(end, "result" if complete else "status") or INCOMPLETE)
    if result.status == "PASS" and [m.get("sequenceNumber") for m in messages] != list(range(len(messages))):
        result = _sample("result", INCOMPLETE)
    return (*samples, result)


def _diagnosis(diagnosis: dict[str, Any], parts: dict[str, str]) -> Sample:
    return _sample(
        "diagnosis",
        _text(diagnosis, "type"),
        device=parts.get(str(diagnosis.get("hardwareInfoId")), ""),
        detail=_text_of(diagnosis, "verdict"),
    )


def _sample(metric: str, status: str, *, device: str = "", detail: str = "") -> Sample:
    return Sample(metric, 1.0 if status == "PASS" else 0.0, "pass", device=device, status=status, detail=detail)


def _text_of(message: dict[str, Any], name: str) -> str:
    return ": ".join(t for t in (_text(message, name), _text(message, "message")) if t)


def _text(data: dict[str, Any], key: str) -> str:
    return str(data.get(key) or "")[:_TEXT_LIMIT]


def _dict(data: dict[str, Any], key: str) -> dict[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _dicts(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = data.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
