"""Adds to the report of a run what the GPUs showed under load, of nodes with something to look at: from the run that measured it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.raw_records import read_one
from clusterctl.core.load_traces import node_traces
from clusterctl.core.wanted_loads import bad_loads, loads_with_room, wanted_loads
from clusterctl.model.errors import ConfigError, UnknownRunError
from clusterctl.model.load_trace import MissingTrace, NodeLoads, NoPicture

if TYPE_CHECKING:
    from clusterctl.adapters.store import Store
    from clusterctl.core.gates.load_gate import LoadGate
    from clusterctl.model.load_trace import LoadTrace
    from clusterctl.model.records import RunRow
    from clusterctl.model.run_report import NodeSection, RunReport


def with_loads(store: Store, report: RunReport) -> RunReport:
    """The report with the loads of its nodes; evidence that is missing or damaged is a reason, never an error.

    Raises:
        StoreError: the database cannot be read.
    """
    drawn = loads_with_room(report.sections)
    loads = (_loads(store, report.run, s, gate, has_room=(s.name, gate.name) in drawn) for s, gate in wanted_loads(report.sections))
    return replace(report, loads=tuple(loads))


def _loads(store: Store, run: RunRow, section: NodeSection, gate: LoadGate, *, has_room: bool) -> NodeLoads:
    if not has_room:
        return NodeLoads(section.name, gate.name, "", (MissingTrace(is_again=False, why=NoPicture.NO_ROOM),))
    measured_in = _measured_in(store, run, section, gate)
    try:
        directory = store.run(measured_in).directory
    except UnknownRunError:
        directory = ""
    return NodeLoads(section.name, gate.name, "" if measured_in == run.id else measured_in, _read(directory, section, gate))


def _measured_in(store: Store, run: RunRow, section: NodeSection, gate: LoadGate) -> str:
    """The run whose results of the gate the report shows: the newest that has some of this node."""
    runs = section.gates_earlier.runs if section.gates_earlier else ()
    return next((r for r in reversed(runs) if any(g.gate == gate.name for g in store.gate_results(section.name, r))), run.id)


def _read(directory: str, section: NodeSection, gate: LoadGate) -> tuple[LoadTrace | MissingTrace, ...]:
    try:
        records = read_one(Path(directory), gate.name, section.name) if directory else ()
    except ConfigError as e:
        return (MissingTrace(is_again=False, why=NoPicture.DAMAGED, detail=str(e)),)
    if not records:
        return (MissingTrace(is_again=False, why=NoPicture.NO_RECORDS),)
    return tuple(node_traces(gate, records, section.name, {r.device for r in bad_loads(section, gate)}))
