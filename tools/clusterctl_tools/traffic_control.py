"""`tc` of iproute2: what queues the packets of an interface (tc(8))."""

import json
from typing import List, Tuple

QDISCS = ("tc", "-j", "qdisc", "show")
# They limit a rate, or delay and drop packets; mq, fq, fq_codel, pfifo_fast, mqprio, noqueue, ingress and clsact do not.
SHAPING = frozenset(["netem", "tbf", "htb", "hfsc", "cake", "sfb"])


class UnreadableQdiscsError(ValueError):
    """The output is not that of `QDISCS`."""


def parse_qdiscs(text: str) -> List[Tuple[str, str]]:
    """(interface, kind) of each. Raises UnreadableQdiscsError."""
    try:
        return [(str(row["dev"]), str(row["kind"])) for row in json.loads(text or "[]") if row]
    except (ValueError, KeyError, TypeError) as e:
        raise UnreadableQdiscsError("tc qdisc show: {}".format(e)) from e
