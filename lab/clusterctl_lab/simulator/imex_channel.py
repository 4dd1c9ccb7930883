"""The device file of IMEX channel 0, which NCCL needs for NVLink between trays. It does not survive a reboot."""

from __future__ import annotations

import os
import stat

PATH = "/dev/nvidia-caps-imex-channels/channel0"
# Major number of the channels' driver in /proc/devices.
MAJOR = 235


def create_channel() -> None:
    """Create the device, as the driver does when it loads with NVreg_CreateImexChannel0=1."""
    os.makedirs(os.path.dirname(PATH), exist_ok=True)
    if not os.path.exists(PATH):
        os.mknod(PATH, 0o666 | stat.S_IFCHR, os.makedev(MAJOR, 0))


def channel_exists() -> bool:
    """Whether the device exists."""
    return os.path.exists(PATH)
