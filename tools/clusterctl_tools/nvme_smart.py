"""The SMART / Health Information log of an NVMe controller (NVM Express Base Specification, Log Identifier 02h), which the kernel reads for root.

Needs neither nvme-cli nor smartmontools: it is one Get Log Page command through the kernel (Linux, include/uapi/linux/nvme_ioctl.h).
"""

import array
import fcntl
import os
import struct
from dataclasses import dataclass
from typing import Tuple

_ADMIN_COMMAND = 0xC0484E41  # NVME_IOCTL_ADMIN_CMD
_COMMAND = struct.Struct("=BBHIIIQQ10I")  # struct nvme_passthru_cmd
_GET_LOG_PAGE = 0x02
_SMART = 0x02
_SIZE_BYTES = 512
_WHOLE_CONTROLLER = 0xFFFFFFFF
_STATUS_BITS = 0x7FF  # status code type and status code, without More and Do Not Retry
_HEAD = struct.Struct("<BHBBB")
_MEDIA_ERRORS = slice(160, 176)
# Status codes of a controller that has no such command or log.
_WITHOUT_LOG = frozenset((0x001, 0x002, 0x109))
# Bits of the critical warning.
_WARNINGS = {
    0: "spare below its threshold",
    2: "reliability degraded by media or internal errors",
    3: "media read-only",
    4: "backup of volatile memory failed",
    5: "persistent memory region unreliable or read-only",
}
_TEMPERATURE_BIT = 1


class NoSmartLogError(Exception):
    """The controller has no such log, as some virtual ones, or this machine has no device file for it."""


class UnreadableSmartLogError(Exception):
    """The controller did not answer with the log."""


@dataclass(frozen=True)
class SmartLog:
    """What the controller reports about itself.

    Attributes:
        warnings: what its critical warning names besides the temperature, in the order of the bits; one without a name is shown by its number.
        hot: whether it warns of its temperature, which is beyond a threshold.
        spare_percent, spare_threshold_percent: spare capacity left, and below which the controller warns.
        used_percent: of the life that the vendor estimates for the media; more than 100 is possible, 255 is the most.
        media_errors: times that data could not be read back as written.
    """

    warnings: Tuple[str, ...]
    hot: bool
    spare_percent: int
    spare_threshold_percent: int
    used_percent: int
    media_errors: int


def read_smart_log(path: str) -> bytes:
    """The log of the controller at e.g. /dev/nvme0. Raises NoSmartLogError and UnreadableSmartLogError."""
    log = array.array("B", bytes(_SIZE_BYTES))
    pages = (_SIZE_BYTES // 4 - 1) << 16 | _SMART
    command = bytearray(
        _COMMAND.pack(_GET_LOG_PAGE, 0, 0, _WHOLE_CONTROLLER, 0, 0, 0, log.buffer_info()[0], 0, _SIZE_BYTES, pages, *([0] * 7))
    )
    try:
        device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as e:
        raise NoSmartLogError("{} is absent".format(path)) from e
    except OSError as e:
        raise UnreadableSmartLogError("{}: {}".format(path, e.strerror)) from e
    try:
        status = fcntl.ioctl(device, _ADMIN_COMMAND, command) & _STATUS_BITS
    except OSError as e:
        raise UnreadableSmartLogError("{}: {}".format(path, e.strerror)) from e
    finally:
        os.close(device)
    if status in _WITHOUT_LOG:
        raise NoSmartLogError("{} has no SMART log".format(path))
    if status:
        raise UnreadableSmartLogError("{}: NVMe status 0x{:03x}".format(path, status))
    return log.tobytes()


def parse_smart_log(log: bytes) -> SmartLog:
    """The log as the controller wrote it. Raises UnreadableSmartLogError if it is cut off."""
    if len(log) < _SIZE_BYTES:
        raise UnreadableSmartLogError("{} of {} bytes".format(len(log), _SIZE_BYTES))
    bits, _kelvin, spare, threshold, used = _HEAD.unpack_from(log)
    is_set = [bit for bit in range(8) if bits >> bit & 1]
    named = tuple(_WARNINGS.get(bit, "bit {}".format(bit)) for bit in is_set if bit != _TEMPERATURE_BIT)
    return SmartLog(named, _TEMPERATURE_BIT in is_set, spare, threshold, used, int.from_bytes(log[_MEDIA_ERRORS], "little"))
