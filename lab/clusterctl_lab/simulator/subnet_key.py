"""The M_Key that the subnet manager has set at the ports of this machine, and what a query without it gets (IBA 14.2.4). Without the file there is none."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass

from .state import read

# {"m_key": "0x1f", "level": 2}; as opensm.conf has them.
FILE = "/var/lib/clusterctl-lab/subnet.json"
_REFUSING = 2
FAILED = 255


@dataclass(frozen=True)
class SubnetKey:
    """A key of 0 is none, whatever the level is."""

    key: int = 0
    level: int = 0

    @property
    def refuses(self) -> bool:
        """Whether a query without the key gets no answer."""
        return self.key != 0 and self.level >= _REFUSING

    @property
    def shown(self) -> str:
        """What a query without the key shows of it."""
        return f"0x{self.key if self.level == 0 else 0:016x}"


def subnet_key() -> SubnetKey:
    """The key that is set now."""
    text = read(FILE)
    if not text:
        return SubnetKey()
    row = json.loads(text)
    return SubnetKey(int(row["m_key"], 16), int(row["level"]))


def report_silence(destination: str, *, waited: bool = False) -> None:
    """What the programs of infiniband-diags print to stderr when a query gets no answer. `waited`: as one does that left this machine."""
    if waited:
        print(f"ibwarn: [{os.getpid()}] _do_madrpc: recv failed: Connection timed out", file=sys.stderr)
    print(f"ibwarn: [{os.getpid()}] mad_rpc: _do_madrpc failed; dport ({destination})", file=sys.stderr)
