"""BMAAS03-01, BMAAS06-01, BMAAS08-01, BMAAS09-01, BMAAS11-01, BMAAS12-01: the machine at which the suite logs in by itself, to look at it and to load its GPUs.

Only a node that is out of the pool, on which nothing runs. The suite takes port 22, an account and a key, and any host key.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, Option, Site, report

if TYPE_CHECKING:
    import argparse

# as `clusterctl power` has it: any other node may run jobs, or is in a run
_OUT = ("drained", "quarantined", "maintenance")
_STATES = {"on": "running", "off": "stopped"}


def read(site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """Its address, and whether it is on, as its BMC says."""
    name = site.name_of(given.machine_id)
    _refuse_in_use(next(n for n in site.nodes("--ask-pool") if n["name"] == name))
    address = next((n["address"] for n in site.ask("inventory")["nodes"] if n["name"] == name), "")
    if not address:
        raise NotAnsweredError(f"{name} is not in the inventory")
    fields = {"instance_id": name, "public_ip": address, "ssh_user": given.ssh_user, "key_file": given.key_file}
    (bmc,) = site.ask("bmc", name, "--only", "protocols")["nodes"]
    if bmc["problem"]:
        raise NotAnsweredError(f"its BMC does not say whether {name} is on: {bmc['problem']}", **fields)
    return fields | {"state": _STATES.get(bmc["power"], bmc["power"])}


def _refuse_in_use(node: dict[str, Any]) -> None:
    name, hint = node["name"], f"clusterctl drain {node['name']} --wait --reason WHY"
    if node["state"] not in _OUT:
        raise NotAnsweredError(f"{name} is {node['state']}: the suite would load its GPUs; take it out of the pool first: {hint}")
    if node["held_by"]:
        raise NotAnsweredError(f"a run works on {name}: wait for its end")
    if node["in_use"]:
        raise NotAnsweredError(f"jobs still run on {name}: {hint}")


if __name__ == "__main__":
    options = (
        Option("machine-id", "name or serial of the node", required=True),
        Option("ssh-user", "account at which the suite logs in", required=True),
        Option("key-file", "private key of that account, without a passphrase", required=True),
    )
    sys.exit(report("describe_instance", __doc__, read, *options))
