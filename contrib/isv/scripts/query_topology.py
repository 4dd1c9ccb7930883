"""STG05-01: the rack of each node, as the failure domain that its nodes share. One without a rack fails."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Site, machine_id, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, _given: argparse.Namespace) -> dict[str, Any]:
    """The racks that the inventory declares."""
    hosts = [{"host_id": machine_id(n), "failure_domain": n["rack"]} for n in site.nodes()]
    return {"hosts_checked": len(hosts), "hosts": hosts}


if __name__ == "__main__":
    sys.exit(report("query_topology", __doc__, read))
