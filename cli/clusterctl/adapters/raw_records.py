"""The files of a burn-in in a run directory: the agent's raw records (`gates/<gate>/<node>.json`) and the header (`gates/burnin.json`)."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.given_file import read_given_text
from clusterctl.adapters.strict_json import parse_json
from clusterctl.core.gates.planning.header import FILE, Header, header_from
from clusterctl.core.gates.planning.header import SCHEMA_VERSION as HEADER_VERSION
from clusterctl.model.errors import ConfigError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import RawRecord
from clusterctl.model.pcie_hop import PcieHop
from clusterctl.model.trace_sample import TraceSample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

SCHEMA_VERSION = 1
# Seconds, exit status and attempts of one command are far below.
_LARGEST = 1 << 31
_NAMES = {f.name for f in fields(RawRecord)}
_TUPLES = ("argv", "peers")
_TYPES = {
    "duration_s": (int, float),
    "exit_status": (int, type(None)),
    "simulated": (bool,),
    "unpinned": (bool,),
    "attempts": (int,),
    "error_code": (str, type(None)),
}
_HOP_TYPES: dict[str, tuple[type, ...]] = {
    "device": (str,),
    "lower": (str,),
    "upper": (str,),
    "samples": (int,),
    "speed_gts": (int, float, type(None)),
    "width": (int, type(None)),
    "most_speed_gts": (int, float, type(None)),
    "most_width": (int, type(None)),
}
_TRACE_TYPES: dict[str, tuple[type, ...]] = {
    "at_s": (int, float),
    "took_s": (int, float),
    "exit_status": (int, type(None)),
    "stdout": (str,),
    "device": (str,),
}
# What entries of older records lack.
_LATER = frozenset({"device"})
# The lists of a record: what an entry is, and far more of them than a node has, or than a day of samples every five seconds.
_ENTRIES: dict[str, tuple[Callable[..., PcieHop | TraceSample], Mapping[str, tuple[type, ...]], int]] = {
    "links": (PcieHop, _HOP_TYPES, 4096),
    "trace": (TraceSample, _TRACE_TYPES, 20000),
}
# Records that were stored before error codes existed: a part of the error text -> its code. The first match counts.
_OLD_ERRORS = (
    ("no record came back: node unreachable", GateReason.NODE_UNREACHABLE),
    ("no record came back: the measuring play timed out", GateReason.TIMED_OUT),
    ("no record came back", GateReason.NO_RECORD),
    (": not installed", GateReason.NOT_INSTALLED),
    ("another burn-in runs on this node", GateReason.NODE_BUSY),
    (" never answered", GateReason.PEER_SILENT),
    (" stopped answering", GateReason.PEER_SILENT),
    (" went on without this node", GateReason.PEER_AHEAD),
    ("cannot listen on port", GateReason.PORT_TAKEN),
    ("timed out after", GateReason.TIMED_OUT),
    ("time limit of the node's plan", GateReason.TIMED_OUT),
    ("ended by signal", GateReason.KILLED),
    ("interrupted", GateReason.INTERRUPTED),
)


def record_from(data: Any) -> RawRecord:
    """A record from its JSON object.

    Raises:
        ValueError: a field is missing, unknown or has the wrong type.
    """
    if not isinstance(data, dict) or not set(data) <= _NAMES:
        raise ValueError("not a record")
    values = dict(data)
    for name, value in data.items():
        if name in _TUPLES:
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise ValueError(f"{name} is not a list of strings")
            values[name] = tuple(_without_surrogates(v) for v in value)
        elif name in _ENTRIES:
            values[name] = tuple(_entries(value, name))
        elif not isinstance(value, _TYPES.get(name, (str,))):
            raise ValueError(f"{name} has the wrong type")
        elif isinstance(value, int | float) and abs(value) > _LARGEST:
            raise ValueError(f"{name} is too large")
        elif isinstance(value, str):
            values[name] = _without_surrogates(value)
    error, code = values.get("error", ""), values.get("error_code")
    values["error_code"] = GateReason(code) if code else _code_of_old_error(error) if "error_code" not in values else None
    try:
        return RawRecord(**values)
    except TypeError as e:
        raise ValueError(str(e)) from e


def _entries(value: Any, owner: str) -> Iterator[PcieHop | TraceSample]:
    """The entries of a list in a record; old ones have none."""
    make, types, most = _ENTRIES[owner]
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"{owner} is not a list of entries, or too long")
    for entry in value:
        if not isinstance(entry, dict) or not set(types) - _LATER <= set(entry) <= set(types):
            raise ValueError(f"{owner} has an entry that is none")
        for name, number in entry.items():
            kinds = types[name]
            impossible = isinstance(number, int | float) and not 0 <= number <= _LARGEST
            if not isinstance(number, kinds) or isinstance(number, bool) or impossible:
                raise ValueError(f"{name} of an entry of {owner} is not a possible value")
        yield make(**{name: _without_surrogates(v) if isinstance(v, str) else v for name, v in entry.items()})


def _without_surrogates(text: str) -> str:
    """JSON can hold half of a character pair, which neither a file nor the database can."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _code_of_old_error(error: str) -> GateReason | None:
    if not error:
        return None
    return next((code for part, code in _OLD_ERRORS if part in error), GateReason.AGENT_FAILED)


def read_records(text: str) -> tuple[RawRecord, ...]:
    """The records in the output of an agent; incomplete and other lines are skipped, so their steps will be missing."""
    records = []
    for line in text.splitlines():
        try:
            records.append(record_from(parse_json(line)))
        except ValueError:
            continue
    return tuple(records)


def gate_document(gate: str, node: str, records: Iterable[RawRecord]) -> dict[str, Any]:
    """The content of `gates/<gate>/<node>.json`."""
    return {"schema_version": SCHEMA_VERSION, "gate": gate, "node": node, "records": [asdict(r) for r in records]}


def read_all(run_directory: Path) -> tuple[RawRecord, ...]:
    """All raw records of a run directory, by gate and node.

    Raises:
        ConfigError: there are none, or a file does not have the format of `gate_document`.
    """
    files = sorted((run_directory / "gates").glob("*/*.json"))
    if not files:
        raise ConfigError(detail=f"{run_directory}: contains no raw records of a burn-in", hint="`clusterctl burnin TARGET` creates them")
    return tuple(r for f in files for r in _read(f))


def read_one(run_directory: Path, gate: str, node: str) -> Sequence[RawRecord]:
    """The raw records of one gate on one node; none where the run directory has no file of them.

    Raises:
        ConfigError: the file does not have the format of `gate_document`.
    """
    file = run_directory / "gates" / gate / f"{node}.json"
    return _read(file) if file.is_file() else ()


def _read(file: Path) -> Sequence[RawRecord]:
    try:
        data = parse_json(read_given_text(file))
        version, records = data["schema_version"], [record_from(r) for r in data["records"]]
    except (ValueError, KeyError, TypeError, OSError) as e:
        raise ConfigError(detail=f"{file}: not a file of raw records: {e}", hint="restore the run directory from a backup") from e
    if version != SCHEMA_VERSION:
        raise ConfigError(
            detail=f"{file}: schema_version is {version!r}, this clusterctl reads {SCHEMA_VERSION}",
            hint="use the version of clusterctl that wrote it",
        )
    return records


def read_header(directory: Path) -> Header:
    """The header of a run directory.

    Raises:
        ConfigError: the directory contains no burn-in, or the file is damaged.
    """
    file = directory / FILE
    if not file.is_file():
        raise ConfigError(
            detail=f"{directory}: contains no burn-in", hint="`clusterctl burnin TARGET` creates one; see `clusterctl history NODE`"
        )
    try:
        data = parse_json(read_given_text(file))
        header = header_from(data)
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as e:
        raise ConfigError(detail=f"{file}: damaged: {e!r}", hint="restore the run directory from a backup") from e
    if data["schema_version"] != HEADER_VERSION:
        raise ConfigError(
            detail=f"{file}: has schema_version {data['schema_version']!r}", hint="use the version of clusterctl that wrote it"
        )
    return header
