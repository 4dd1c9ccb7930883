"""Parsers of ethtool output: rings (`-g`) and pause (`-a`)."""

import re
from typing import Dict


def current_rings(text: str) -> Dict[str, str]:
    """`{rx: 1024, tx: 1024}`: the current sizes, not the maximums."""
    now = text.partition("Current hardware settings:")[2]
    return {way.lower(): size for way, size in re.findall(r"^(RX|TX):\s*(\S+)", now, re.MULTILINE)}


def pause(text: str) -> Dict[str, str]:
    """`{rx: on, tx: off}`."""
    return {way.lower(): state for way, state in re.findall(r"^(RX|TX):\s*(on|off)\s*$", text, re.MULTILINE)}
