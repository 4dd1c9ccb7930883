"""What the firmware of this machine boots from: the override of its BMC, else the first option of the boot order.

A machine that tries the network first waits for DHCP: EDK II tries four times, for 4, 8, 16 and 32 s, per adapter (mPxeDhcpTimeout of UefiPxeBcDxe). In the lab
that minute takes a few seconds, and nothing answers, so that the disk is next; at a site with an install server it would be a reinstall.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import state

if TYPE_CHECKING:
    from typing import Any

# The settings of its BMC, which the lab mounts read-only.
BMC = "/var/lib/clusterctl-lab/bmc.json"
# The override that an earlier boot has used up, by the time at which it was set.
OVERRIDE_BEFORE = "/usr/lib/clusterctl-lab/boot-override-before"
FLAG = "boot-source"
NETWORK_WAIT_S = 6.0
NETWORK, DISK = "network", "disk"


@dataclass(frozen=True)
class FirmwareOption:
    """One boot option of the firmware; shapes of names and paths as on a GB200 tray (recorded tree of NVIDIA/libredfish)."""

    name: str
    kind: str
    path: str


OPTIONS = {
    "Boot0001": FirmwareOption("UEFI PXEv4 (MAC:525400C0FFEE)", NETWORK, "PciRoot(0x5)/Pci(0x0,0x0)/MAC(525400C0FFEE,0x1)/IPv4(0.0.0.0)"),
    "Boot0002": FirmwareOption("Ubuntu", DISK, "HD(1,GPT,7909D246-B31F-4CB2-B81E-937208DDD5B7,0x800,0x100000)/\\EFI\\ubuntu\\shimx64.efi"),
    "Boot0003": FirmwareOption(
        "UEFI HTTPv4 (MAC:525400C0FFEE)", NETWORK, "PciRoot(0x5)/Pci(0x0,0x0)/MAC(525400C0FFEE,0x1)/IPv4(0.0.0.0)/Uri()"
    ),
    "Boot0004": FirmwareOption(
        "UEFI Shell", "shell", "Fv(9AEF2E52-DEAD-4F63-B895-3A504A3E63C4)/FvFile(7C04A583-9E3E-4F1C-AD65-E05268D0B4D1)"
    ),
}
# Of an override, as Redfish names them.
TARGETS = {"Pxe": NETWORK, "Hdd": DISK}
DELIVERED = ("Boot0002", "Boot0001", "Boot0003", "Boot0004")


def on_boot() -> None:
    """Boot as the firmware does; the flag `boot-source` names the source."""
    boot = _boot_settings()
    # Not whether the BMC calls it used: it may have noted this start before this line runs.
    since = str(boot.get("target_since") or "")
    source = first_kind(boot.get("pending") or boot.get("order") or DELIVERED)
    if since and (boot.get("continuous") or since != state.read(OVERRIDE_BEFORE)):
        source = TARGETS[boot["target"]]
        os.makedirs(os.path.dirname(OVERRIDE_BEFORE), exist_ok=True)
        with open(OVERRIDE_BEFORE, "w", encoding="utf-8") as file:
            file.write(since)
    if source == NETWORK:
        time.sleep(NETWORK_WAIT_S)
    state.set_flag(FLAG, source)


def first_kind(order: list[str] | tuple[str, ...]) -> str:
    """The kind of the first option."""
    return next((OPTIONS[name].kind for name in order if name in OPTIONS), DISK)


def _boot_settings() -> dict[str, Any]:
    """{} if the BMC has stored nothing yet."""
    try:
        with open(BMC, encoding="utf-8") as file:
            return dict(json.load(file).get("boot") or {})
    except FileNotFoundError:
        return {}
