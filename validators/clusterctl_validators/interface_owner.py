"""Whether an interface of an adapter was taken from netplan, systemd-networkd and NetworkManager."""

import re
from typing import Optional

from clusterctl_tools import nmcli
from clusterctl_validators import rdma_sysfs
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

_NETWORK = "/etc/systemd/network/05-clusterctl-{}.network"
_UDEV = "/etc/udev/rules.d/89-clusterctl-{}-unmanaged.rules"
_NETPLAN = "/etc/netplan/95-clusterctl-{}.yaml"
_REBOOT = "reboot the node: a manager gives the interface up when it starts"


def judge_files(record: Record, probe: Probe, role: str, *, takeover: bool) -> None:
    """Without a takeover there are no files of one."""
    if not takeover:
        left = [path.format(role) for path in (_NETWORK, _UDEV) if probe.read(path.format(role)) is not None]
        record.equal(role + ".takeover.files", "none", ", ".join(left) or "none", hint="apply the role " + role)


def judge_interface(record: Record, probe: Probe, at: str, device: str, interface: str) -> None:
    """`at`: prefix of the checks, which starts with the role. The files name the adapter by PCI address; `unmanaged` is what each running manager shows."""
    role = at.partition(".")[0]
    address = _address(probe, device)
    network, rules = probe.read(_NETWORK.format(role)) or "", probe.read(_UDEV.format(role)) or ""
    missing = []
    if not re.search(r"^Path=pci-{}$".format(re.escape(address)), network, re.MULTILINE) or "\nUnmanaged=yes" not in network:
        missing.append("systemd-networkd")
    if not re.search(r'^ACTION.*KERNELS=="{}".*ENV\{{NM_UNMANAGED\}}="1"'.format(re.escape(address)), rules, re.MULTILINE):
        missing.append("NetworkManager")
    if _is_named(probe, interface) and not re.search(_id_of(interface), probe.read(_NETPLAN.format(role)) or "", re.MULTILINE):
        missing.append("netplan")
    found = "by " + ", ".join(missing) if missing else "unmanaged"
    record.equal(at + "owner.persisted", "unmanaged", found, hint="apply the role " + role)
    managers = [m for m in (_networkd(probe, interface), _network_manager(probe, interface)) if m]
    record.equal(at + "owner.running", "unmanaged", ", ".join(managers) or "unmanaged", hint=_REBOOT)


def _is_named(probe: Probe, interface: str) -> bool:
    """Whether a file of netplan has the interface as an id: then netplan names it to systemd-networkd-wait-online, whoever configures it."""
    return any(re.search(_id_of(interface), probe.read(path) or "", re.MULTILINE) for path in probe.glob("/etc/netplan/*.yaml"))


def _id_of(interface: str) -> str:
    return r"^\s+[\"']?{}[\"']?:".format(re.escape(interface))


def _address(probe: Probe, device: str) -> str:
    return rdma_sysfs.address_of(probe, device) or "no PCI address"


def _networkd(probe: Probe, interface: str) -> Optional[str]:
    """What systemd-networkd does with it, from its state file (sd_network_link_get_setup_state); None if it leaves it alone or does not run."""
    index = (probe.read("/sys/class/net/{}/ifindex".format(interface)) or "").strip()
    state = re.search(r"^ADMIN_STATE=(\S+)", probe.read("/run/systemd/netif/links/" + index) or "", re.MULTILINE) if index else None
    return "systemd-networkd: " + state.group(1) if state and state.group(1) != "unmanaged" else None


def _network_manager(probe: Probe, interface: str) -> Optional[str]:
    shown = probe.run(nmcli.state_argv(interface))
    managed = not shown.error and shown.rc == 0 and nmcli.is_managed(shown.stdout)
    return "NetworkManager: " + shown.stdout.strip() if managed else None
