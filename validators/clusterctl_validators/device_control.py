"""The Device Control register of a PCI function, by `setpci` (PCI Express Base Specification, 7.5.3.4), which opens it read-only to read."""

import re
from dataclasses import dataclass

from clusterctl_validators.probe import Probe

REGISTER = "CAP_EXP+8.w"
_WORD = re.compile(r"^[0-9a-f]{4}$")


class UnreadableRegisterError(ValueError):
    """setpci did not show the register."""


@dataclass(frozen=True)
class DeviceControl:
    """What a function may do.

    Attributes:
        relaxed_ordering: it may ask that its transactions pass others (`RlxdOrd+` of lspci).
        max_read_request_bytes: the size of its largest read request (`MaxReadReq`).
    """

    relaxed_ordering: bool
    max_read_request_bytes: int


def read_device_control(probe: Probe, address: str) -> DeviceControl:
    """The register of the function at a PCI address. Raises UnreadableRegisterError."""
    answer = probe.run(["setpci", "-s", address, REGISTER])
    word = answer.stdout.strip()
    if answer.error or not _WORD.match(word):
        raise UnreadableRegisterError(answer.error or answer.stderr.strip() or "no register shown")
    if word == "ffff":
        raise UnreadableRegisterError("the device does not answer: every bit of the register is set")
    value = int(word, 16)
    # Bit 4; bits 14 to 12, where 0 is 128 bytes and each step doubles.
    return DeviceControl(bool(value & 0x10), 128 << (value >> 12 & 7))
