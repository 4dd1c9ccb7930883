"""ethtool: rings (`-g`) and pause (`-a`) of an interface."""

import re
from typing import Dict, List


def rings_argv(interface: str) -> List[str]:
    """The command that `current_rings` reads."""
    return ["ethtool", "-g", interface]


def pause_argv(interface: str) -> List[str]:
    """The command that `pause` reads."""
    return ["ethtool", "-a", interface]


def current_rings(text: str) -> Dict[str, str]:
    """`{rx: 1024, tx: 1024}`: the current sizes, not the maximums."""
    now = text.partition("Current hardware settings:")[2]
    return {way.lower(): size for way, size in re.findall(r"^(RX|TX):\s*(\S+)", now, re.MULTILINE)}


def pause(text: str) -> Dict[str, str]:
    """`{rx: on, tx: off}`."""
    return {way.lower(): state for way, state in re.findall(r"^(RX|TX):\s*(on|off)\s*$", text, re.MULTILINE)}
