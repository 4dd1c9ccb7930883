"""What systemd-networkd made of each rail at this boot: the first file that matches decides (systemd.network(5)), those of netplan among them.

Only what decides over a rail is simulated: globs of names and PCI paths, and DHCP that nobody answers. No daemon runs, and no address is removed.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from typing import NamedTuple

from .pseudo_files import write_files
from .state import read

LINKS = "/run/systemd/netif/links"
_VIRTUAL = "/sys/devices/virtual/net"


class _Network(NamedTuple):
    file: str
    names: tuple[str, ...]
    paths: tuple[str, ...]
    state: str

    def matches(self, name: str, path: str) -> bool:
        named = not self.names or any(fnmatch.fnmatchcase(name, n) for n in self.names)
        return named and (not self.paths or any(fnmatch.fnmatchcase(path, p) for p in self.paths))


def show(rails: dict[str, str], root: str = "") -> None:
    """Write the state file of each interface, as networkd does; nothing on a node where no file configures one. `rails`: interface -> PCI address."""
    networks = sorted([*_networks(root), *_of_netplan(root)])
    for name, address in rails.items() if networks else ():
        state = next((n.state for n in networks if n.matches(name, f"pci-{address}")), "unmanaged")
        index = read(f"{root}{_VIRTUAL}/{name}/ifindex")
        write_files(f"{root}{LINKS}", {index: f"# This is private data. Do not parse.\nADMIN_STATE={state}\nOPER_STATE=carrier"})


def _networks(root: str) -> list[_Network]:
    found = []
    for path in glob.glob(f"{root}/etc/systemd/network/*.network"):
        text = read(path)
        state = (
            "unmanaged"
            if re.search(r"^Unmanaged=yes", text, re.MULTILINE)
            else _configured(bool(re.search(r"^DHCP=(yes|ipv[46])", text, re.MULTILINE)))
        )
        found.append(_Network(os.path.basename(path), _words(text, "Name"), _words(text, "Path"), state))
    return found


def _of_netplan(root: str) -> list[_Network]:
    """The files that `netplan generate` writes, for ids that are interface names, in block style as installers write them; a later file adds to an id."""
    dhcp: dict[str, bool] = {}
    for path in sorted(glob.glob(f"{root}/etc/netplan/*.yaml")):
        key = ""
        for line in read(path).splitlines():
            name, value = re.match(r" {4}(\S+):$", line), re.match(r" {6}dhcp4: (\S+)$", line)
            key = name[1] if name else key
            if name or (key and value):
                dhcp[key] = value[1] in ("true", "yes") if value else dhcp.get(key, False)
    return [_Network(f"10-netplan-{name}.network", (name,), (), _configured(requests)) for name, requests in dhcp.items()]


def _words(text: str, key: str) -> tuple[str, ...]:
    return tuple(word for value in re.findall(rf"^{key}=(.*)$", text, re.MULTILINE) for word in value.split())


def _configured(dhcp: bool) -> str:
    return "configuring" if dhcp else "configured"
