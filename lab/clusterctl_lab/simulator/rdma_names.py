"""The names that a boot gives to the RDMA devices: the kernel's numbers, then the udev rules.

The kernel numbers devices in the order in which it finds them, so behind a dead adapter every number is one lower. udev runs rdma_rename of rdma-core for each
device (kernel-boot/rdma-persistent-naming.rules); only its mode NAME_FIXED with a PCI address is simulated, the other modes keep the kernel's name.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from . import state

if TYPE_CHECKING:
    from .hardware import Hardware

RULES = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
_RULE = re.compile(r'^ACTION=="add".*KERNELS=="(?P<address>[^"]+)".*rdma_rename %k NAME_FIXED (?P<name>[^" ]+)"', re.MULTILINE)
_NUMBER = re.compile(r"\d+$")


def on_boot(kind: Hardware) -> None:
    """Name the devices; which adapters are dead is a matter of power, so it is read once for each boot."""
    dead = {address for name, address in _named(kind) if name in state.read_faults().missing_hcas()}
    names = names_of_boot(kind, dead, state.read(RULES) if state.installed_version("rdma-core") else "")
    os.makedirs(state.RUN, exist_ok=True)
    state.set_flag("hca-dead", " ".join(sorted(dead)))
    state.set_flag("hca-names", json.dumps(names))


def names_of_boot(kind: Hardware, dead: set[str], rules: str) -> dict[str, str]:
    """Name on a healthy machine without udev rules -> name now; empty for a dead adapter."""
    fixed = {rule["address"]: rule["name"] for rule in _RULE.finditer(rules)}
    lost = [_number(name) for name, address in _named(kind) if address in dead]
    names: dict[str, str] = {}
    for name, address in _named(kind):
        number = _number(name) - sum(other < _number(name) for other in lost)
        names[name] = "" if address in dead else fixed.get(address, _NUMBER.sub(str(number), name))
    return names


def current(kind: Hardware) -> Hardware:
    """The hardware with the names of this boot."""
    now = state.hca_names()
    switch_hcas, other_hcas = (tuple((now.get(n, n), a) for n, a in devices) for devices in (kind.switch_hcas, kind.other_hcas))
    return replace(kind, hca_names=tuple(now.get(name, name) for name in kind.hca_names), switch_hcas=switch_hcas, other_hcas=other_hcas)


def _named(kind: Hardware) -> list[tuple[str, str]]:
    return [*zip(kind.hca_names, kind.hca_addresses, strict=True), *kind.switch_hcas, *kind.other_hcas]


def _number(name: str) -> int:
    found = _NUMBER.search(name)
    return int(found.group()) if found else 0
