"""apt: the candidate of a package, and the settings of periodic upgrades."""

import re
from typing import Dict, List, Sequence

PERIODIC = ("apt-config", "dump", "APT::Periodic")
_CANDIDATE = re.compile(r"^(\S+):\n(?:  [^\n]*\n)*?  Candidate: (\S+)", re.MULTILINE)
_SETTING = re.compile(r'^(\S+) "(.*)";$', re.MULTILINE)


def policy_argv(packages: Sequence[str]) -> List[str]:
    """The command that prints which versions apt would install: one for all, because each reads the lists of all repositories."""
    return ["apt-cache", "policy", *packages]


def parse_candidates(text: str) -> Dict[str, str]:
    """Package -> the version that apt would install, from `apt-cache policy`; a package unknown to apt is left out."""
    return dict(_CANDIDATE.findall(text))


def parse_settings(text: str) -> Dict[str, str]:
    """Name -> value, from `apt-config dump`."""
    return dict(_SETTING.findall(text))
