"""nmcli of NetworkManager: as what it has an interface."""

from typing import List


def state_argv(interface: str) -> List[str]:
    """The command that prints the state of a device: `10 (unmanaged)`, `100 (connected)` (nmcli(1), NMDeviceState)."""
    return ["nmcli", "-g", "GENERAL.STATE", "device", "show", interface]


def is_managed(text: str) -> bool:
    """Whether the printed state is another one than unmanaged."""
    return bool(text.strip()) and text.split(maxsplit=1)[0] != "10"
