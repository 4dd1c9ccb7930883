"""apt: the candidate of a package, and the settings of periodic upgrades."""

import re
from typing import Dict, List

PERIODIC = ("apt-config", "dump", "APT::Periodic")
_CANDIDATE = re.compile(r"^\s+Candidate: (\S+)", re.MULTILINE)
_SETTING = re.compile(r'^(\S+) "(.*)";$', re.MULTILINE)


def policy_argv(package: str) -> List[str]:
    """The command that prints which version apt would install."""
    return ["apt-cache", "policy", package]


def parse_candidate(text: str) -> str:
    """The version that apt would install, from `apt-cache policy`; empty if none is shown."""
    found = _CANDIDATE.search(text)
    return found.group(1) if found else ""


def parse_settings(text: str) -> Dict[str, str]:
    """Name -> value, from `apt-config dump`."""
    return dict(_SETTING.findall(text))
