"""What OCP Test & Validation 2.0 output must be: each message as the message classes of the library `ocptv` say, all in the order of the specification."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import types
import typing
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ocptv.output import objects
from ocptv.output.config import config

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# In the JSON schemas of the specification (test_run_start.json, dut_info.json), and not in version 0.1.7 of the library.
_NEWER: dict[str, dict[str, Any]] = {"RunStart": {"metadata": dict}, "HardwareInfo": {"partType": str}}
# The library holds the objects where the output has their ids.
_IDS = {"hardwareInfoId": str, "softwareInfoIds": list}
_ENDS = {("COMPLETE", "PASS"), ("COMPLETE", "FAIL"), ("ERROR", "NOT_APPLICABLE"), ("SKIP", "NOT_APPLICABLE")}
config(enable_runtime_checks=False)


def read_output(text: str) -> list[dict[str, Any]]:
    """The messages of one test run.

    Raises:
        ValueError: a line is not a message, or a message is at a wrong place.
    """
    messages = [dict(json.loads(line)) for line in text.splitlines()]
    for message in messages:
        _check_object(message, objects.Root)
        datetime.fromisoformat(message["timestamp"])
    _require([m["sequenceNumber"] for m in messages] == list(range(len(messages))), "messages are missing or out of order")
    _check_order(messages)
    return messages


def bodies(messages: Iterable[Mapping[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    """The messages of a kind: `measurement`, `error` ..."""
    for message in messages:
        artifact = message.get("testStepArtifact") or message.get("testRunArtifact") or {}
        if kind in artifact:
            yield artifact[kind]


def _check_order(messages: list[dict[str, Any]]) -> None:
    first, start, *between, end = messages
    _require("schemaVersion" in first, "schemaVersion is not the first message")
    _require("testRunStart" in start.get("testRunArtifact", {}), "testRunStart is not the second message")
    last = end.get("testRunArtifact", {}).get("testRunEnd", {})
    _require((last.get("status"), last.get("result")) in _ENDS, f"{end} is not the end of a test run")
    known = {i["hardwareInfoId"] for i in start["testRunArtifact"]["testRunStart"]["dutInfo"].get("hardwareInfos", ())}
    opened, closed = set[str](), set[str]()
    for message in between:
        _require("testRunEnd" not in message.get("testRunArtifact", {}), "a message follows testRunEnd")
        step = message.get("testStepArtifact")
        if step is None:
            continue
        name = step["testStepId"]
        if "testStepStart" in step:
            _require(name not in opened, f"step {name} starts twice")
            opened.add(name)
        _require(name in opened - closed, f"{message} is outside of its step")
        if "testStepEnd" in step:
            closed.add(name)
    _require(opened == closed, f"steps without an end: {opened - closed}")
    used = {b["hardwareInfoId"] for kind in ("measurement", "diagnosis") for b in bodies(between, kind) if "hardwareInfoId" in b}
    _require(used <= known, f"hardware that dutInfo does not have: {used - known}")


def _check_object(value: Any, kind: Any) -> None:
    """`value` against a message class: no unknown field, none missing, each of its type."""
    _require(isinstance(value, dict), f"{value!r} is no {kind.__name__}")
    hints = _hints(kind)
    allowed: dict[str, Any] = {**_NEWER.get(kind.__name__, {})}
    required = set()
    for field in dataclasses.fields(kind):
        name, hint = field.metadata.get("spec_field"), hints[field.name]
        options = {str(getattr(t, "SPEC_OBJECT", "")): t for t in _alternatives(hint) if t is not types.NoneType}
        if name is None:
            allowed |= options
            if types.NoneType not in _alternatives(hint):
                _require(len(set(options) & set(value)) == 1, f"{kind.__name__} has not one of {sorted(options)}: {value}")
        else:
            # lists may be left out: the schemas require none
            required |= {name} if types.NoneType not in _alternatives(hint) and typing.get_origin(hint) is not list else set()
            allowed[name] = _IDS.get(name, str if name == "timestamp" else hint)
    _require(required <= set(value) <= set(allowed), f"{kind.__name__}: {sorted(value)} of {sorted(allowed)}")
    for name, one in value.items():
        _check_value(one, allowed[name])


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, vars(objects))


def _check_value(value: Any, hint: Any) -> None:
    kinds = _alternatives(hint)
    if typing.get_origin(hint) is list and typing.get_args(hint):
        for one in value:
            _check_value(one, typing.get_args(hint)[0])
    elif any(dataclasses.is_dataclass(k) for k in kinds):
        _check_object(value, next(k for k in kinds if dataclasses.is_dataclass(k)))
    elif enums := [k for k in kinds if isinstance(k, enum.EnumMeta)]:
        known = typing.cast("type[enum.Enum]", enums[0])
        _require(value in {member.value for member in known}, f"{value!r} is none of {known.__name__}")
    else:
        plain = tuple(dict if k is objects.Metadata else typing.get_origin(k) or k for k in kinds)
        _require(isinstance(value, plain), f"{value!r} is none of {plain}")


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Union else (hint,)


def _require(truth: bool, problem: str) -> None:
    if not truth:
        raise ValueError(problem)
