"""PortInfo as smpquery and saquery print it: identifiers, link and M_Key of this port; the other values are those of a port of ibsim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .state import read

if TYPE_CHECKING:
    from .subnet_key import SubnetKey

# Bits of CapabilityMask: libibmad, dump.c.
_CAPABILITIES = {
    1: "IsSM",
    2: "IsNoticeSupported",
    3: "IsTrapSupported",
    4: "IsOptionalIPDSupported",
    5: "IsAutomaticMigrationSupported",
    6: "IsSLMappingSupported",
    7: "IsMKeyNVRAM",
    8: "IsPKeyNVRAM",
    9: "IsLedInfoSupported",
    10: "IsSMdisabled",
    11: "IsSystemImageGUIDsupported",
    12: "IsPkeySwitchExternalPortTrapSupported",
    14: "IsExtendedSpeedsSupported",
    15: "IsCapabilityMask2Supported",
    16: "IsCommunicatonManagementSupported",
    17: "IsSNMPTunnelingSupported",
    18: "IsReinitSupported",
    19: "IsDeviceManagementSupported",
    20: "IsVendorClassSupported",
    21: "IsDRNoticeSupported",
    22: "IsCapabilityMaskNoticeSupported",
    23: "IsBootManagementSupported",
    24: "IsLinkRoundTripLatencySupported",
    25: "IsClientRegistrationSupported",
    26: "IsOtherLocalChangesNoticeSupported",
    27: "IsLinkSpeedWidthPairsTableSupported",
    28: "IsVendorSpecificMadsTableSupported",
    29: "IsMcastPkeyTrapSuppressionSupported",
    30: "IsMulticastFDBTopSupported",
    31: "IsHierarchyInfoSupported",
}
_LANES = {800: "212.5", 400: "106.25", 200: "53.125", 100: "25.78125"}
_OLD_SPEEDS = "2.5 Gbps or 5.0 Gbps or 10.0 Gbps"
_MORE = "\n\t\t\t\t"
_BEFORE_WIDTHS = {"DiagCode": "0x0000", "MkeyLeasePeriod": "0"}
_WIDTHS = {"LinkWidthEnabled": "1X or 4X", "LinkWidthSupported": "1X or 4X or 8X or 12X or 2X", "LinkWidthActive": "4X"}
_AFTER_LEVEL = {
    "LMC": "0",
    "LinkSpeedActive": "10.0 Gbps",
    "LinkSpeedEnabled": _OLD_SPEEDS,
    "NeighborMTU": "4096",
    "SMSL": "0",
    "VLCap": "VL0-7",
    "InitType": "0x00",
    "VLHighLimit": "0",
    "VLArbHighCap": "8",
    "VLArbLowCap": "8",
    "InitReply": "0x00",
    "MtuCap": "4096",
    "VLStallCount": "7",
    "HoqLife": "0",
    "OperVLs": "VL0-7",
    **dict.fromkeys(("PartEnforceInb", "PartEnforceOutb", "FilterRawInb", "FilterRawOutb"), "0"),
    **dict.fromkeys(("MkeyViolations", "PkeyViolations", "QkeyViolations"), "0"),
    "GuidCap": "32",
    **dict.fromkeys(("ClientReregister", "McastPkeyTrapSuppressionEnabled"), "0"),
    "SubnetTimeout": "31",
    **dict.fromkeys(("RespTimeVal", "LocalPhysErr", "OverrunErr", "MaxCreditHint", "RoundTrip"), "0"),
    "CapabilityMask2": f"0x30{_MORE}IsLinkWidth2xSupported{_MORE}IsLinkSpeedHDRSupported",
}


def port_info_lines(port: str, key: SubnetKey, *, shows_keys: bool) -> list[str]:
    """The lines for the port whose files are in the folder `port`."""
    mask = int(read(f"{port}/cap_mask") or "0", 16)
    lane = _LANES.get(int(read(f"{port}/rate").partition(" ")[0] or 0), "14.0625")
    speeds = f"14.0625 Gbps or 25.78125 Gbps or {lane} Gbps"
    rows = {
        "Mkey": key.shown if shows_keys else "<not displayed>",
        "GidPrefix": f"0x{read(f'{port}/gids/0').replace(':', '')[:16]}",
        "Lid": str(int(read(f"{port}/lid") or "0", 16)),
        "SMLid": str(int(read(f"{port}/sm_lid") or "0", 16)),
        "CapMask": f"0x{mask:x}" + "".join(_MORE + name for bit, name in _CAPABILITIES.items() if mask >> bit & 1),
        **_BEFORE_WIDTHS,
        "LocalPort": port.rpartition("/")[2],
        **_WIDTHS,
        "LinkSpeedSupported": _OLD_SPEEDS,
        "LinkState": read(f"{port}/state").rpartition(": ")[2].capitalize(),
        "PhysLinkState": read(f"{port}/phys_state").rpartition(": ")[2],
        "LinkDownDefState": "Polling",
        "ProtectBits": str(key.level),
        **_AFTER_LEVEL,
        "LinkSpeedExtActive": f"{lane} Gbps",
        "LinkSpeedExtSupported": speeds,
        "LinkSpeedExtEnabled": speeds,
    }
    return [f"{label + ':':.<33}{value}" for label, value in rows.items()]
