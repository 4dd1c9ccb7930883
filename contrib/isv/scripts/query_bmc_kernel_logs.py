"""BFX03-03: the logs of each node's BMC, read over Redfish. A BMC whose logs cannot be read, or are empty, shows none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Option, Site, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """The BMCs that returned log entries."""
    found = site.ask("bmc", given.target, "--only", "log", "--entries", "1")["nodes"]
    hosts = [{"host_id": n.get("serial") or n["name"], "kernel_log_available": bool(n.get("log")), "why": _why(n)} for n in found]
    return {"hosts": hosts}


def _why(node: dict[str, Any]) -> str:
    return str(node["problem"] or node.get("missing", {}).get("log", "") or ("" if node.get("log") else "its logs have no entry"))


if __name__ == "__main__":
    sys.exit(report("query_bmc_kernel_logs", __doc__, read, Option("target", "nodes to query", "all")))
