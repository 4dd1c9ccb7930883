"""Rules of iptables that are restored at boot: no unit of a firewall runs, and yet the node refuses what they do not list."""

import re

from clusterctl_validators.probe import Probe

# Debian's iptables-persistent and Red Hat's iptables-services, and what restores each file.
_RESTORED = {"/etc/iptables/rules.v4": "netfilter-persistent.service", "/etc/sysconfig/iptables": "iptables.service"}
# By the policy of the chain, or by a last rule without a condition; rules with one refuse some packets only.
_REJECT_THE_REST = re.compile(r"^(?::INPUT (?:DROP|REJECT)\b|-A INPUT -j (?:DROP|REJECT)\b)", re.MULTILINE)


def rejecting(probe: Probe) -> str:
    """The file whose rules are restored and refuse whatever they do not list; empty if there is none."""
    found = [path for path in _RESTORED if _REJECT_THE_REST.search(probe.read(path) or "")]
    units = probe.units([_RESTORED[path] for path in found]) if found else {}
    return next((path for path in found if units[_RESTORED[path]].active or units[_RESTORED[path]].enabled), "")
