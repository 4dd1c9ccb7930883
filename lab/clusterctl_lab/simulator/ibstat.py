"""ibstat: shows /sys/class/infiniband in its format. Options as in infiniband-diags 44: -l, -s, -p, and a device with a port."""

from __future__ import annotations

import os
import sys

from . import state

ROOT = "/sys/class/infiniband"
_PANIC = 255


def main(argv: list[str], version: str) -> int:
    """Show all HCAs, or the one named, or one port of it."""
    flags = {w for w in argv[1:] if w.startswith("-")}
    words = [w for w in argv[1:] if not w.startswith("-")]
    if flags & {"-V", "--version"}:
        print(f"ibstat BUILD VERSION: {version} (simulated)")
        return 0
    names = sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else []
    if flags & {"-l", "--list_of_cas"}:
        print("".join(f"{name}\n" for name in names), end="")
        return 0
    if words and words[0] not in names:
        return _panic(f"'{words[0]}' IB device can't be found")
    if flags & {"-p", "--port_list"}:
        print("".join(f"{port_guid(name)}\n" for name in words[:1] or names), end="")
    elif len(words) > 1:
        return _one_port(words[0], words[1])
    else:
        print("".join(hca_text(name, ports=not flags & {"-s", "--short"}) for name in (words[:1] or names)), end="")
    return 0


def _panic(reason: str) -> int:
    print(f"ibpanic: [{os.getpid()}] main: {reason}: Success", file=sys.stderr)
    return _PANIC


def _one_port(name: str, port: str) -> int:
    if port != "1":
        print(f"ibwarn: [{os.getpid()}] ca_stat: CA: '{name}' has no port number {port} - max (1)", file=sys.stderr)
        return _panic(f"stat of IB device '{name}' failed")
    print(f"CA: '{name}'\nPort 1:\n" + "".join(f"{k}: {v}\n" for k, v in _port_rows(name).items()), end="")
    return 0


def hca_text(name: str, *, ports: bool = True) -> str:
    """The output for one HCA, with or without its port."""
    at = f"{ROOT}/{name}"
    rows = {
        "CA type": state.read(f"{at}/hca_type"),
        "Number of ports": "1",
        "Firmware version": state.read(f"{at}/fw_ver"),
        "Hardware version": state.read(f"{at}/hw_rev"),
        "Node GUID": _hexadecimal(state.read(f"{at}/node_guid")),
        "System image GUID": _hexadecimal(state.read(f"{at}/sys_image_guid")),
    }
    head = f"CA '{name}'\n" + "".join(f"\t{k}: {v}\n" for k, v in rows.items())
    return head + ("\tPort 1:\n" + "".join(f"\t\t{k}: {v}\n" for k, v in _port_rows(name).items()) if ports else "")


def port_guid(name: str) -> str:
    """The GUID of the port: the lower half of its first GID."""
    return _hexadecimal(":".join(state.read(f"{ROOT}/{name}/ports/1/gids/0").split(":")[4:]))


def _port_rows(name: str) -> dict[str, str]:
    port = f"{ROOT}/{name}/ports/1"
    return {
        "State": state.read(f"{port}/state").rpartition(": ")[2].capitalize(),
        "Physical state": state.read(f"{port}/phys_state").rpartition(": ")[2],
        "Rate": state.read(f"{port}/rate").partition(" ")[0],
        "Base lid": str(int(state.read(f"{port}/lid") or "0", 16)),
        "LMC": str(int(state.read(f"{port}/lid_mask_count") or "0", 0)),
        "SM lid": str(int(state.read(f"{port}/sm_lid") or "0", 16)),
        "Capability mask": state.read(f"{port}/cap_mask"),
        "Port GUID": port_guid(name),
        "Link layer": state.read(f"{port}/link_layer"),
    }


def _hexadecimal(guid: str) -> str:
    return "0x" + guid.replace(":", "")
