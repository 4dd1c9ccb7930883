"""`firewall-cmd` of firewalld: what is in the zone trusted, whose packets are all let through (firewall-cmd(1), firewalld.zones(5))."""

from typing import List


def trusted_argv(what: str, *, permanent: bool) -> List[str]:
    """What lists the `interfaces` or the `sources` of the zone, in the running firewall or in the files that it loads at its next start."""
    return ["firewall-cmd", "--zone=trusted", "--list-" + what, *(["--permanent"] if permanent else [])]


def entries(text: str) -> List[str]:
    """The listed names or networks."""
    return text.split()
