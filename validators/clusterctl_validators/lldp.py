"""Neighbours as `lldpctl -f json` tells them."""

import json
from dataclasses import dataclass
from typing import Any, Dict, List


class UnreadableLldpError(Exception):
    """The text is not that of `lldpctl -f json`."""


@dataclass(frozen=True)
class Neighbour:
    """What answers at the other end of a cable. `ports`: every name that it gives its port, its identifier first."""

    name: str
    ports: List[str]


def parse(text: str) -> Dict[str, Neighbour]:
    """Neighbour by interface; an interface without one is not in it. Raises UnreadableLldpError."""
    try:
        interfaces = json.loads(text)["lldp"].get("interface", {})
        # One interface is an object, several may be a list of objects.
        rows = interfaces if isinstance(interfaces, list) else [interfaces]
        return {name: _neighbour(said) for row in rows for name, said in row.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise UnreadableLldpError("lldpctl -f json: {}: {}".format(type(e).__name__, e)) from e


def _neighbour(said: Dict[str, Any]) -> Neighbour:
    chassis, port = said["chassis"], said["port"]
    # A chassis without a name is told by its identifier alone.
    name = chassis["id"]["value"] if "id" in chassis else next(iter(chassis))
    return Neighbour(str(name), [str(p) for p in (port["id"]["value"], port.get("descr")) if p])
