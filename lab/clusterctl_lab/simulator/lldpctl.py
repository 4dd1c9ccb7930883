"""lldpctl -f json: the switches that announce themselves on the Ethernet rails."""

from __future__ import annotations

import json
import sys

from . import link_type, machine, nic_settings
from .cabling import hca_devices, switch_port


def main(argv: list[str], version: str) -> int:
    """Print the neighbours; only the JSON format is simulated."""
    if "-v" in argv:
        print(f"{version} (simulated)")
        return 0
    if argv[1:] != ["-f", "json"]:
        print("lldpctl: this simulator supports only `-f json`", file=sys.stderr)
        return 1
    rails = [machine.hca_index(d) for d in hca_devices() if machine.is_rail(d)]
    rows = [_neighbour(rail) for rail in rails] if link_type.is_ethernet() else []
    print(json.dumps({"lldp": {"interface": rows} if rows else {}}, indent=2))
    return 0


def _neighbour(index: int) -> dict[str, object]:
    end = switch_port(index)
    chassis = {end.switch: {"id": {"type": "mac", "value": f"02:00:5e:00:00:{index:02x}"}, "descr": "clusterctl lab (simulated)"}}
    port = {"id": {"type": "ifname", "value": f"swp{end.port}"}, "ttl": "120"}
    return {
        nic_settings.interface_name(index): {
            "via": "LLDP",
            "rid": str(index + 1),
            "age": "0 day, 00:01:00",
            "chassis": chassis,
            "port": port,
        }
    }
