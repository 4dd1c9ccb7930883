"""Samples for people and for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.model.site_documents import ReadableTool, ToolsDocument
from clusterctl.terminal import out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.gate_result import Sample


def show_samples(tool: str, source: str, samples: Sequence[Sample], output: str) -> None:
    """Print the samples of one text."""
    if output != "table":
        out.emit(output, "samples", {"tool": tool, "source": source, "samples": [asdict(s) for s in samples]})
        return
    columns = ("METRIC", "VALUE", "UNIT", "DEVICE", "PEER", "BYTES", "OP", "NOTE")
    rows = [
        (
            s.metric,
            f"{s.value:.6g}",
            s.unit,
            s.device,
            s.peer_device,
            str(s.size_bytes or ""),
            s.op,
            " ".join(w for w in (s.status, s.transport, s.detail[:60]) if w),
        )
        for s in samples
    ]
    out.table(columns, rows)


def show_tools(tools: Mapping[str, str], aliases: Mapping[str, str], output: str) -> None:
    """List the tools that have a parser."""
    found = tuple(ReadableTool(t, tuple(sorted(a for a, of in aliases.items() if of == t)), text) for t, text in tools.items())
    if output != "table":
        out.emit_document(output, "tools", ToolsDocument(found))
        return
    out.table(("TOOL", "READS", "ALSO NAMED"), [(one.tool, one.reads, ", ".join(one.aliases)) for one in found])
