"""Rules of iptables that are restored at boot: no unit of a firewall runs, and yet the node refuses what they do not list."""

import re

from clusterctl_validators.probe import Probe

# Debian's iptables-persistent and Red Hat's iptables-services, and what restores each file.
_RESTORED = {"/etc/iptables/rules.v4": "netfilter-persistent.service", "/etc/sysconfig/iptables": "iptables.service"}
# Of IPv6: they count on a node with a default route of IPv6 alone.
_RESTORED_6 = {"/etc/iptables/rules.v6": "netfilter-persistent.service", "/etc/sysconfig/ip6tables": "ip6tables.service"}
# The default route in /proc/net/route and /proc/net/ipv6_route; the kernel has one of IPv6 on lo that refuses.
_DEFAULT = re.compile(r"^\S+\t0{8}\t\S+\t[0-9A-F]+\t\d+\t\d+\t\d+\t0{8}\b", re.MULTILINE)
_DEFAULT_6 = re.compile(r"^0{32} 00 .* (?!lo$)\S+$", re.MULTILINE)
# By the policy of the chain, or by a last rule without a condition; rules with one refuse some packets only.
_REJECT_THE_REST = re.compile(r"^(?::INPUT (?:DROP|REJECT)\b|-A INPUT -j (?:DROP|REJECT)\b)", re.MULTILINE)


def rejecting(probe: Probe) -> str:
    """The file whose rules are restored and refuse whatever they do not list; empty if there is none."""
    restored = {**_RESTORED, **(_RESTORED_6 if _has_ipv6_alone(probe) else {})}
    found = [path for path in restored if _REJECT_THE_REST.search(probe.read(path) or "")]
    units = probe.units([restored[path] for path in found]) if found else {}
    return next((path for path in found if units[restored[path]].active or units[restored[path]].enabled), "")


def _has_ipv6_alone(probe: Probe) -> bool:
    routes = probe.read("/proc/net/route")
    return routes is not None and not _DEFAULT.search(routes) and bool(_DEFAULT_6.search(probe.read("/proc/net/ipv6_route") or ""))
