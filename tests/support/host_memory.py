"""What host_memory.py prints on a node, for tests: the lines of stressapptest 1.0.11 as its source has them (sat.cc, worker.cc), with figures of a node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterctl_tools import host_memory
from support.gates import record

if TYPE_CHECKING:
    from clusterctl.model.gate_result import RawRecord

NODE_MIB = 2_063_000
ASKED_MIB = 1_934_000
SECONDS = 300
REPORT = "Report Error: miscompare : DIMM Unknown : 1 : 221s\n"
WORD = (
    "Hardware Error: miscompare on CPU 57(<-13) at 0x7f887275d000(0x442715d000:DIMM Unknown): "
    "read:0xaaaaaaa8aaaaaaa8, reread:0xaaaaaaa8aaaaaaa8 expected:0xaaaaaaaaaaaaaaaa. 'OneZero'.\n"
)
UNREPEATED = (
    "Log: CrcCheckPage CRC mismatch 000001004201ff01 000102ae6966ff80 != 000000ffffffff01 0001027ffffeff80, but no miscompares found.\n"
)


def stress_output(**own: Any) -> str:
    """What stressapptest prints: `tested_mib`, `ran_s`, `copies` of each MiB, `incidents`, `counted` of them, `printed` lines of them, `log`: lines before the end."""
    tested, ran_s, incidents = own.get("tested_mib", ASKED_MIB), own.get("ran_s", float(SECONDS)), own.get("incidents", 0)
    counted, copied = own.get("counted", incidents), 2.0 * tested * own.get("copies", 12.0)
    words = (REPORT + WORD) * min(30, own.get("printed", incidents))
    verdict = "FAIL - test discovered HW problems" if counted else "PASS - please verify no corrected errors"
    return (
        f"Log: Commandline - stressapptest -W -s {SECONDS} -M {tested}\n"
        "Stats: SAT revision 1.0.11_autoconf, 64 bit binary\n"
        "Log: 1 nodes, 224 cpus.\nLog: Defaulting to 224 copy threads\nLog: Prefer plain malloc memory allocation.\n"
        f"Log: Using mmap() allocation at 0x7fe9f5400000.\nStats: Starting SAT, {tested}M, {SECONDS} seconds\n"
        f"Log: Region mask: 0x1\nLog: Seconds remaining: 290\n{words}{own.get('log', '')}"
        f"Stats: Found {counted} hardware incidents\n"
        f"Stats: Completed: {copied:.2f}M in {ran_s:.2f}s {copied / ran_s:.2f}MB/s, with {counted} hardware incidents, 0 errors\n"
        f"Stats: Memory Copy: {copied:.2f}M at {copied / ran_s:.2f}MB/s\nStats: File Copy: 0.00M at 0.00MB/s\n"
        f"Stats: Data Check: 0.00M at 0.00MB/s\n\nStatus: {verdict}\n\n"
    )


def begin_line(**own: Any) -> str:
    """The line about the memory."""
    figures = {"node_mib": NODE_MIB, "free_mib": 2_036_000, "asked_mib": ASKED_MIB, "bound_to": []}
    return json.dumps({"schema_version": 1, **figures, **own}, sort_keys=True) + "\n"


def end_line(exit_status: int = 0, oom_kills: int = 0) -> str:
    """The line about the end."""
    return json.dumps({"exit_status": exit_status, "oom_kills": oom_kills}) + "\n"


def node_memory_output(**own: Any) -> str:
    """All lines: `node` (of the line about the memory), `killed_by` a signal before the count, `oom_kills`, and what `stress_output` takes."""
    stress = stress_output(**own)
    if own.get("killed_by"):
        return (
            begin_line(**own.get("node", {})) + stress.partition("Stats: Found")[0] + end_line(-own["killed_by"], own.get("oom_kills", 0))
        )
    bad = int(own.get("counted", own.get("incidents", 0)) > 0)
    return begin_line(**own.get("node", {})) + stress + end_line(bad, own.get("oom_kills", 0))


def memory_record(node: str, text: str, **more: Any) -> RawRecord:
    """The record of a run."""
    fields: dict[str, Any] = {"tool": "stressapptest", "argv": tuple(host_memory.load_argv(SECONDS)), "duration_s": SECONDS + 340.0}
    return record("host_memory", node, text, **{**fields, "tool_version": "stressapptest 1.0.11_autoconf", **more})
