"""The names of RDMA devices: the udev rules, and the names in force."""

import re
from typing import Any, Dict, Mapping

from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.rdma_sysfs import names_at
from clusterctl_validators.record import Record

_PROVISION = "run `clusterctl provision NODE`"
RENAMED_HINT = "reboot the node: a device keeps the name that it got when it appeared"
_FIXED = re.compile(r'KERNELS=="(?P<address>[^"]+)".*rdma_rename %k NAME_FIXED (?P<name>[^" ]+)"')
_SCHEME = re.compile(r'rdma_rename %k (NAME_\w+)"')


def schemes(rules: str) -> str:
    """The naming schemes of the rules for all devices: `NAME_KERNEL`."""
    found = [_SCHEME.search(line) for line in _lines(rules)]
    return ", ".join(match.group(1) for match in found if match) or "no rule"


def judge_fixed_names(spec: Mapping[str, Any], rules: str, record: Record, probe: Probe) -> None:
    """Each device with a declared address: its rule, and its name now. An absent card is a finding of hardware."""
    fixed: Dict[str, str] = {}
    for match in filter(None, (_FIXED.search(line) for line in _lines(rules))):
        fixed.setdefault(match.group("address"), match.group("name"))
    addresses: Mapping[str, str] = spec["ofed_device_addresses"]
    for name, address in addresses.items():
        at = "ofed.device_name[{}].".format(name)
        record.equal(at + "persisted", name, fixed.get(address, "no rule for " + address), severity=Severity.CRITICAL, hint=_PROVISION)
        names = names_at(probe, address)
        if names:
            record.equal(at + "running", name, ", ".join(names), severity=Severity.CRITICAL, hint=RENAMED_HINT)
        else:
            record.not_applicable(at + "running", "no RDMA device at {}; hardware reports a missing card".format(address))
    others = sorted(set(fixed) - set(addresses.values()))
    record.equal("ofed.device_name.others", "none", ", ".join(others) or "none", hint=_PROVISION)


def _lines(rules: str) -> "list[str]":
    return [line for line in rules.splitlines() if line.startswith("ACTION") and 'SUBSYSTEM=="infiniband"' in line]
