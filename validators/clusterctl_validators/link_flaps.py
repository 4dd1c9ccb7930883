"""The checks that count how often a link was lost, by name. Where one fails with losses that were not seen before, its device flapped that day (`history --worst`, `drift`)."""

import re

HCA = "hardware.hca[{}].link_flaps"
# One check for all NVLinks of a GPU, as for their number and rate: their record is that of the GPU's serial.
GPU = "hardware.gpu[{}].nvlink_flaps"
# Check -> its device, as gates name it.
DEVICES = {HCA: "{}", GPU: "GPU {}"}
# How the name of each of them ends.
END = "link_flaps"


def flapping_device(check: str) -> str:
    """The device of a check that counts losses of links, of any role; empty for every other check."""
    for pattern, device in DEVICES.items():
        before, _, after = pattern.partition(".")[2].partition("{}")
        found = re.match(r"\w+\." + re.escape(before) + r"(.+)" + re.escape(after) + "$", check)
        if found:
            return device.format(found.group(1))
    return ""
