"""flint (MFT) and mstflint: the firmware of an adapter."""

import re
from dataclasses import dataclass
from typing import List

_FIELD = re.compile(r"^(?P<name>FW Version|FW Version\(Running\)|PSID):\s+(?P<value>\S+)", re.MULTILINE)


class UnreadableFirmwareError(ValueError):
    """The text shows no firmware."""


@dataclass(frozen=True)
class Firmware:
    """`flash`: the version that the next reset starts; `running`: the current one; `psid`: the board."""

    flash: str
    running: str
    psid: str


def query_argv(tool: str, address: str) -> List[str]:
    """The command that prints the firmware. `tool`: flint or mstflint."""
    return [tool, "-d", address, "query"]


def parse_firmware(text: str) -> Firmware:
    """Parse `flint query`; it omits the running version if that equals the flash. Raises UnreadableFirmwareError without version or board."""
    fields = {m.group("name"): m.group("value") for m in _FIELD.finditer(text)}
    if "FW Version" not in fields or "PSID" not in fields:
        raise UnreadableFirmwareError("no FW Version or no PSID: {!r}".format(text.strip()[-120:]))
    return Firmware(fields["FW Version"], fields.get("FW Version(Running)", fields["FW Version"]), fields["PSID"])
