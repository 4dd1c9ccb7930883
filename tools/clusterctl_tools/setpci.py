"""setpci: the Device Control register of a PCI function (PCI Express Base Specification, 7.5.3.4), which it opens read-only to read."""

import re
from dataclasses import dataclass
from typing import List

DEVICE_CONTROL = "CAP_EXP+8.w"
_WORD = re.compile(r"[0-9a-f]{4}")


class UnreadableRegisterError(ValueError):
    """setpci did not show the register."""


@dataclass(frozen=True)
class DeviceControl:
    """What a function may do.

    Attributes:
        relaxed_ordering: it may request that its transactions pass others (`RlxdOrd+` of lspci).
        max_read_request_bytes: the size of its largest read request (`MaxReadReq`).
    """

    relaxed_ordering: bool
    max_read_request_bytes: int


def device_control_argv(address: str) -> List[str]:
    """The command that prints the register of the function at a PCI address."""
    return ["setpci", "-s", address, DEVICE_CONTROL]


def parse_device_control(text: str) -> DeviceControl:
    """The register as four hexadecimal digits. Raises UnreadableRegisterError if it is absent or if the device does not answer."""
    word = text.strip()
    if not _WORD.fullmatch(word):
        raise UnreadableRegisterError("no register shown")
    if word == "ffff":
        raise UnreadableRegisterError("the device does not answer: every bit of the register is set")
    value = int(word, 16)
    # Bit 4; bits 14 to 12, where 0 is 128 bytes and each step doubles.
    return DeviceControl(bool(value & 0x10), 128 << (value >> 12 & 7))
