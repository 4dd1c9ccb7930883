"""The device of IMEX channel 0, without which NCCL refuses the NVLink between trays; a boot forgets it."""

from __future__ import annotations

import os
import stat

PATH = "/dev/nvidia-caps-imex-channels/channel0"
# As /proc/devices of this machine names the driver of the channels.
MAJOR = 235


def create_channel() -> None:
    """As the driver does it when it loads, if its parameter says so."""
    os.makedirs(os.path.dirname(PATH), exist_ok=True)
    if not os.path.exists(PATH):
        os.mknod(PATH, 0o666 | stat.S_IFCHR, os.makedev(MAJOR, 0))


def channel_exists() -> bool:
    """Somebody made it."""
    return os.path.exists(PATH)
