"""BFX02-02: the nodes that were retired. A retirement that is only planned is not in the record."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Site, machine_id, report

if TYPE_CHECKING:
    import argparse


def read(site: Site, _given: argparse.Namespace) -> dict[str, Any]:
    """Each with when and why."""
    notices = [
        {"machine_id": machine_id(n), "rack_id": n["rack"], "status": n["state"], "message": n["reason"], "retired_at": n["since"]}
        for n in site.ask("status")["nodes"]
        if n["state"] == "retired"
    ]
    return {"notices_queryable": True, "notices": notices}


if __name__ == "__main__":
    sys.exit(report("query_retirement_notices", __doc__, read))
