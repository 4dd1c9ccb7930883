"""lldpctl: LLDP neighbours."""

import json
from dataclasses import dataclass
from typing import Any, Dict, List

NEIGHBOURS = ("lldpctl", "-f", "json")


class UnreadableLldpError(Exception):
    """The text is not that of `lldpctl -f json`."""


@dataclass(frozen=True)
class Neighbour:
    """The device at the other end of a cable. `ports`: all names of its port, the identifier first."""

    name: str
    ports: List[str]


def parse(text: str) -> Dict[str, List[Neighbour]]:
    """Neighbours by interface; interfaces without one are left out. Raises UnreadableLldpError.

    lldpd lists an interface once for each neighbour that it hears there, and cannot determine which is at the end of the cable (lldpd/lldpd issues 421, 669).
    """
    found: Dict[str, List[Neighbour]] = {}
    try:
        interfaces = json.loads(text)["lldp"].get("interface", {})
        # One interface is an object, several can be a list of objects.
        rows = interfaces if isinstance(interfaces, list) else [interfaces]
        for name, row in (item for group in rows for item in group.items()):
            neighbour = _neighbour(row)
            if neighbour not in found.setdefault(name, []):
                found[name].append(neighbour)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise UnreadableLldpError("lldpctl -f json: {}: {}".format(type(e).__name__, e)) from e
    return found


def _neighbour(row: Dict[str, Any]) -> Neighbour:
    chassis, port = row["chassis"], row["port"]
    # A chassis without a name has only its identifier.
    name = chassis["id"]["value"] if "id" in chassis else next(iter(chassis))
    return Neighbour(str(name), [str(p) for p in (port["id"]["value"], port.get("descr")) if p])
