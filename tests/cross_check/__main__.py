"""`python -m cross_check`: runs real programs over the simulated machine and writes build/cross_check.json.

Exits 1 if an output differs, 3 if no program could be run here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from cross_check import fabric_tools, hardware_views, kernel_tools, network_tools, same_output
from cross_check.comparison import NotRun, ToolReport, report
from cross_check.world import why_no_world
from support.plain_yaml import load_yaml
from support.roles import ROOT

_NEVER = load_yaml(Path(__file__).with_name("not_run.yml").read_text(encoding="utf-8"))
_HOW = "run `make tools`"


def run() -> dict[str, Any]:
    """Compare everything that can be run here. Returns the report."""
    reports: list[ToolReport] = []
    absent: dict[str, str] = {}
    why = why_no_world()
    for part in (same_output, hardware_views, kernel_tools, network_tools, fabric_tools):
        lacking = {
            tool: why or (f"{part.why_missing(tool)} is missing here: {_HOW}" if part.why_missing(tool) else "") for tool in part.TOOLS
        }
        absent |= {tool: reason for tool, reason in lacking.items() if reason}
        present = [tool for tool, reason in lacking.items() if not reason]
        reports += part.compare(present) if present else []
    return report(reports, [NotRun(tool, reason) for tool, reason in (absent | _NEVER).items()])


def main() -> int:
    """Run, write and print. Returns the exit status."""
    found = run()
    out = ROOT / "build" / "cross_check.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in found["rows"]:
        for case in row["different"]:
            print(f"{row['tool']} on {case['machine']}: {case['command']}", *case["difference"], sep="\n  ")
    print(
        f"{found['tools']} tools, {found['compared']} comparisons, {found['different']} different, {len(found['not_run'])} not run; {out}"
    )
    return 3 if not found["tools"] else 1 if found["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
