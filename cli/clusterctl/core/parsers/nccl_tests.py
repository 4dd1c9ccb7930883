"""nccl-tests and rccl-tests: every column layout, tables between NCCL_DEBUG lines, MPI and Slurm tags."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clusterctl.core.parsers.numbers import bytes_of_message, number
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_result import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOOL = "nccl_tests"
_TAG = re.compile(r"^(?:\[\d+,\d+\]<std(?:out|err|diag)>:|\s*\d{1,6}: )")
_PROGRAM = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoallv?|sendrecv|broadcast|reduce|gather|scatter|hypercube)_perf\b")
_CLOSING = re.compile(r"#\s*(Out of bounds values|Avg bus bandwidth|Errors)\s*:\s*(\S+)\s*(\S*)")
_VERSION = re.compile(r"NCCL version (\S+)")
_RANK = re.compile(r"#\s+Rank\s+\d+ .*? device\s+\d+ \[\S*\]\s*(.*)$")
_VIA = re.compile(r"\bvia (NET/[^/\n]+|P2P|SHM|COLLNET|NVLS|MNNVL)((?:/[^\s/]+)*)")
_NVLS = re.compile(r"\b(\d{1,6}) nvls channels|NCCL INFO NVLS comm ")
# src/mnnvl.cc: the ranks that this one shares an NVLink domain with.
_CLIQUE = re.compile(r"\bMNNVL 1 cliqueId \S+ cliqueSize (\d{1,6})")
# HPC-X and DOCA bring plug-ins for the same adapters under names of their own: IBext, IBext_v8 ..., and SPCX, that of Spectrum-X.
_ADAPTER_PLUGIN = re.compile(r"NET/(?:IBext|SPCX)\w*")
_TROUBLE = re.compile(r"NCCL (?:WARN|ERROR)|Test (?:\w+ )?failure|FATAL|unhandled|exited (?:with|on) |\bAborted\b|error", re.IGNORECASE)
_UNITS = {"time": "us", "algbw": "GB/s", "busbw": "GB/s"}


@dataclass(slots=True)
class _Table:
    columns: list[str]
    op: str
    samples: list[Sample] = field(default_factory=list)
    closed: bool = False


def parse(text: str) -> tuple[Sample, ...]:
    """Samples of every result table.

    Per size `busbw`, `algbw`, `time` and `wrong` (`..._in_place` for the second half of a row; `wrong` has the status N/A where the
    tool did not check), then `busbw_average`, `out_of_bounds`, `ranks`, and one `transport` sample per kind of channel that
    NCCL_DEBUG=INFO shows, and `clique`: the fewest ranks that any rank shares an NVLink domain with.

    Raises:
        UnparsableError: no result table, or one without its closing lines.
    """
    tables: list[_Table] = []
    other: list[Sample] = []
    channels: Counter[str] = Counter()
    models: Counter[str] = Counter()
    cliques: list[int] = []
    op = version = ""
    for raw in text.splitlines():
        line = _TAG.sub("", raw)
        op = program[1] if (program := _PROGRAM.search(line)) else op
        version = found[1] if (found := _VERSION.search(line)) else version
        if rank := _RANK.match(line):
            models[rank[1].strip()] += 1
        count_channels(line, channels)
        if clique := clique_in(line):
            cliques.append(clique)
        if columns := _header(line):
            tables.append(_Table(columns, op))
        elif closing := _CLOSING.match(line):
            if tables:
                tables[-1].closed = True
            other += _closing_samples(closing, op, version)
        elif tables and (row := _row(line, tables[-1])):
            tables[-1].closed = False
            tables[-1].samples += row
    _check(text, tables)
    if models:
        other.append(Sample("ranks", float(models.total()), "ranks", op=op, detail=", ".join(m for m in sorted(models) if m)))
    if cliques:
        other.append(Sample("clique", float(min(cliques)), "ranks", op=op))
    other += [Sample("transport", float(n), "channels", op=op, transport=kind) for kind, n in sorted(channels.items())]
    return (*(s for t in tables for s in t.samples), *other)


def _header(line: str) -> list[str]:
    words = line.lstrip("#").split()
    if not line.startswith("#") or words[:3] != ["size", "count", "type"] or not {"time", "busbw"} <= set(words):
        return []
    names: list[str] = []
    half = words.index("time")
    second = words.index("time", half + 1) if words.count("time") > 1 else len(words)
    for index, word in enumerate(words):
        plain = word.lstrip("#")
        names.append(f"{plain}_in_place" if index >= second else plain)
    # Behind the second half stands a date with a time of day (nccl-tests from 2.17.6 on, -S).
    return [*names[:-1], "date", "time_of_day"] if words[-1] == "timestamp" else names


def _row(line: str, table: _Table) -> list[Sample]:
    words = line.split()
    size = bytes_of_message(words[0]) if words else None
    columns = next((c for c in _layouts(table.columns) if len(c) == len(words)), None)
    if size is None or columns is None:
        return []
    samples = []
    for name, word in zip(columns, words, strict=True):
        plain = name.removesuffix("_in_place")
        value = number(word)
        if plain in _UNITS and value is not None:
            samples.append(Sample(name, value, _UNITS[plain], size_bytes=size, op=table.op))
        elif plain in ("wrong", "error"):
            checked = value is not None
            wrong = value if value is not None and plain == "wrong" else 0.0
            status = "" if checked and plain == "wrong" else f"deviation {word}" if checked else "N/A"
            samples.append(Sample(name.replace("error", "wrong"), wrong, "values", size_bytes=size, op=table.op, status=status))
    return samples


def _layouts(columns: list[str]) -> Iterator[list[str]]:
    """The columns as declared, then without those that old versions leave blank."""
    yield columns
    yield [c for c in columns if c != "redop"]
    yield [c for c in columns if c not in ("redop", "root")]


def _closing_samples(closing: re.Match[str], op: str, version: str) -> list[Sample]:
    value = number(closing[2])
    if value is None:
        return []
    if closing[1] == "Avg bus bandwidth":
        return [Sample("busbw_average", value, "GB/s", op=op, detail=f"NCCL {version}" if version else "")]
    return [Sample("out_of_bounds", value, "values", op=op, status=closing[3])]


def count_channels(line: str, channels: Counter[str]) -> None:
    """Add the channels that a line of NCCL shows, by kind."""
    # A literal is found much sooner than a pattern, and most lines have neither.
    if "via " in line and (via := _VIA.search(line)):
        way = next((word for word in ("/GDRDMA", "/MNNVL") if word in via[2]), "")
        # src/transport/coll_net.cc names the plug-in after COLLNET, then the adapter.
        kind = "/".join([via[1], *via[2].split("/")[1:2]]) if via[1] == "COLLNET" else _ADAPTER_PLUGIN.sub("NET/IB", via[1])
        channels[kind + way] += 1
    if ("nvls channels" in line or "NVLS comm" in line) and (nvls := _NVLS.search(line)) and (count := int(nvls[1] or 1)):
        channels["NVLS"] += count


def clique_in(line: str) -> int:
    """How many ranks share an NVLink domain with the one that a line of NCCL is about; 0 if it is not stated."""
    clique = _CLIQUE.search(line) if "MNNVL" in line else None
    return int(clique[1]) if clique else 0


def _check(text: str, tables: list[_Table]) -> None:
    if not any(t.samples for t in tables):
        trouble = [line.strip() for line in text.splitlines() if _TROUBLE.search(line)]
        reason = "no result row" + (f"; it prints: {trouble[-1][:200]}" if trouble else "")
        raise UnparsableError(tool=_TOOL, reason=reason)
    if not any(s.metric == "busbw" for t in tables for s in t.samples):
        raise UnparsableError(tool=_TOOL, reason="no row has a bus bandwidth")
    if not all(t.closed for t in tables):
        raise UnparsableError(tool=_TOOL, reason="the closing lines are missing; the run was cut off")


def with_op(samples: tuple[Sample, ...], op: str) -> tuple[Sample, ...]:
    """The samples with the collective filled in where the text does not name it."""
    return tuple(s if s.op else replace(s, op=op) for s in samples)
