"""infiniband-diags: how the M_Key protects a port, as the port shows it (`smpquery portinfo`) or the subnet manager (`saquery PIR`).

IBA 14.2.4; what a query without the key gets depends on the port's M_KeyProtectBits (opensm(8), section MKEY CONFIGURATION): at 0 everything, and the key itself;
at 1 everything, and 0 for the key; at 2 and 3 no answer. A key of 0 is none, whatever the bits are. Nothing here returns the key.
"""

import re
from dataclasses import dataclass
from typing import List

# smpquery sends a query that gets no answer up to three times, each with this limit. The port is in this machine.
_LIMIT_MS = 200
_KEY = re.compile(r"^\s*Mkey:\.*0x([0-9a-f]+)\s*$", re.MULTILINE)
_LEVEL = re.compile(r"^\s*ProtectBits:\.*([0-3])\s*$", re.MULTILINE)
_FAILED = re.compile(r"^\w+: iberror: failed: (.*\S)", re.MULTILINE)
_OTHER_CAUSE = re.compile(r"send failed|recv failed: (?!Connection timed out)|MAD completed with error status")


class UnreadablePortInfoError(Exception):
    """The text is not the PortInfo of one port. Names no value of it: one is the key."""


@dataclass(frozen=True)
class KeyProtection:
    """What a port answers to a query without the key. `shows_key`: the answer has a key."""

    shows_key: bool
    level: int


def own_port_argv(device: str, port: int) -> List[str]:
    """The command that queries a port of this machine, whatever key the node has in ibdiag.conf. Its output may have the key: leave it to parse_own_port.

    At levels 2 and 3 a port takes it for a violation: it counts it, and sends the subnet manager a trap (256, bad M_Key).
    """
    return ["smpquery", "-C", device, "-P", str(port), "-t", str(_LIMIT_MS), "-K", "-y", "0", "-D", "portinfo", "0"]


def record_argv(device: str, port: int, lid: int) -> List[str]:
    """The command that queries the subnet manager for its record of the port with a local id. No port checks it, and nothing of it is the key (IBA 15.2.5.3)."""
    return ["saquery", "-C", device, "-P", str(port), "PIR", str(lid)]


def parse_own_port(text: str) -> KeyProtection:
    """Raises UnreadablePortInfoError."""
    keys, levels = _KEY.findall(text), _LEVEL.findall(text)
    if len(keys) != 1 or len(levels) != 1:
        raise UnreadablePortInfoError("smpquery shows {} keys and {} protection levels of one port".format(len(keys), len(levels)))
    return KeyProtection(int(keys[0], 16) != 0, int(levels[0]))


def parse_record_level(text: str) -> int:
    """The protection level of the one port. Raises UnreadablePortInfoError."""
    levels = _LEVEL.findall(text)
    if "PortInfoRecord dump:" not in text or len(levels) != 1:
        raise UnreadablePortInfoError("saquery shows {} protection levels of one port".format(len(levels)))
    return int(levels[0])


def has_no_answer(stdout: str, stderr: str) -> bool:
    """Whether the query was sent, and the port sent nothing back."""
    return "port info query failed" in stdout and "_do_madrpc failed" in stderr and not _OTHER_CAUSE.search(stderr)


def reason(stdout: str, stderr: str) -> str:
    """Why a query failed, in the tool's words; empty if it prints none."""
    found = _FAILED.search(stdout) or _FAILED.search(stderr)
    return found.group(1) if found else ""
