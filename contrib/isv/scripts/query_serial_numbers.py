"""BFX03-01: serial numbers of chassis, baseboard, CPUs, GPUs and NICs, as recorded.

Every machine has a chassis, a baseboard and CPUs, whether they report a serial or not: x86 CPUs report none.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import Site, report

if TYPE_CHECKING:
    import argparse

_ALWAYS = ("chassis", "baseboard", "cpu")
_OFTEN = ("gpu", "nic")


def read(site: Site, _given: argparse.Namespace) -> dict[str, Any]:
    """The machines of which parts are recorded."""
    machines = [_machine(n) for n in site.ask("inventory", "--parts")["nodes"] if n["parts"]]
    return {"machines_checked": len(machines), "machines": machines}


def _machine(node: dict[str, Any]) -> dict[str, Any]:
    serials = {kind: [p["serial"] for p in node["parts"] if p["kind"] == kind] for kind in (*_ALWAYS, *_OFTEN, "system")}
    components = {kind: {"present": kind in _ALWAYS or bool(serials[kind]), "identifiers": serials[kind]} for kind in (*_ALWAYS, *_OFTEN)}
    return {"machine_id": next(iter(serials["system"]), node["name"]), "components": components}


if __name__ == "__main__":
    sys.exit(report("query_serial_numbers", __doc__, read))
