"""Parser for the NVLink subnet manager, an OpenSM that the fabric manager starts on boards with fourth-generation NVSwitches."""

import re

PROGRAM = "/opt/nvidia/nvlsm/sbin/nvlsm"
_NUMBERS = r"\d+\.\d+\.\d+"


def parse_version(text: str) -> str:
    """`OpenSM 2025.10.14_42349a2_821fcee` -> `2025.10.14`: the number after the name, else the first one; empty if there is none."""
    found = re.search(r"\b(?:OpenSM|nvlsm)\b\D*(" + _NUMBERS + ")", text, re.IGNORECASE) or re.search("(" + _NUMBERS + ")", text)
    return found.group(1) if found else ""
