"""Who configures the interfaces of rails besides their role: stanzas of netplan, systemd-networkd, NetworkManager and ifupdown, with file and line.

Two owners of one interface do not agree: DHCP without an answer delays each boot by 120 s (systemd-networkd-wait-online.service(8), --timeout=), and a
manager removes addresses that it did not give. Ubuntu's installer puts Ethernet ports on DHCP, in /etc/netplan/50-cloud-init.yaml (24.04:
kubernetes-sigs/image-builder pull request 1480) or 00-installer-config.yaml (22.04; canonical/subiquity pull request 2197). cloud-init writes the first one
anew for a new instance, so nothing edits it: a takeover adds files of its own. ifupdown has no file that keeps it away from an interface.
"""

from __future__ import annotations

import fnmatch
import ipaddress
from typing import TYPE_CHECKING, Any

import yaml
from ansible_collections.clusterctl.gpu.plugins.module_utils.network_files import Stanza, stanzas_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_IPOIB_MAC_CHARACTERS = 59


def owners(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], addresses: Mapping[str, str], name: str) -> list[dict[str, Any]]:
    """The stanzas that contradict the declared rails: with DHCP, or without the declared address.

    Args:
        document: what roles/shared/files/network_owners.py printed.
        rows: rows of roce_rails or infiniband_ipoib.
        addresses: ofed_device_addresses, for devices that do not have their names yet.
        name: the part of the names of our own files, such as `roce`; these do not count.
    """
    stanzas = _stanzas(document, name)
    return [
        {"device": row["device"], "interface": interface, **stanza._asdict()}
        for row in rows
        for interface, about, pci in _interfaces(document, row, addresses)
        for stanza in _effective(stanzas, interface, about, f"pci-{pci}")
        if not stanza.unmanaged and (stanza.dhcp or (row.get("address") and not _gives(stanza, row["address"])))
    ]


def lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The stanzas as lines: which interface of which device, file and line, manager, and what is wrong with it.

    Args:
        found: what `owners` found.
    """
    what = {True: "DHCP", False: "without the declared address"}
    return [
        f"{f['device']}: {f['interface']} is configured by {f['file']}, line {f['line']} ({f['manager']}, {what[f['dhcp']]})" for f in found
    ]


def still_managed(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], addresses: Mapping[str, str]) -> list[str]:
    """The interfaces of rails that a running manager still has; the next boot changes that.

    Args:
        document: as for `owners`.
        rows: as for `owners`.
        addresses: as for `owners`.
    """
    return [
        interface
        for row in rows
        for interface, about, _ in _interfaces(document, row, addresses)
        if about["networkd"] not in ("", "unmanaged") or (about["network_manager"] and not about["network_manager"].startswith("10 "))
    ]


def pci_addresses(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], addresses: Mapping[str, str]) -> list[str]:
    """The PCI addresses of the rails, sorted."""
    found = {addresses.get(row["device"]) or document["devices"].get(row["device"], {}).get("address", "") for row in rows}
    return sorted(found - {""})


def our_files(name: str) -> dict[str, str]:
    """The files of a takeover: before every file of netplan for networkd, by udev for NetworkManager, after every other one for netplan."""
    return {
        "networkd": f"/etc/systemd/network/05-clusterctl-{name}.network",
        "udev": f"/etc/udev/rules.d/89-clusterctl-{name}-unmanaged.rules",
        "netplan": f"/etc/netplan/95-clusterctl-{name}.yaml",
    }


def takeover_texts(
    document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], addresses: Mapping[str, str], name: str
) -> dict[str, str]:
    """Path -> content of the files of a takeover; empty where none is needed. The interfaces are named by PCI address: a change of the link type renames them.

    Args:
        document: as for `owners`.
        rows: as for `owners`.
        addresses: as for `owners`.
        name: as for `owners`.
    """
    header = f"# Written by clusterctl, role {name}; changes are overwritten. The role configures these interfaces, nothing else does.\n"
    pci, paths = pci_addresses(document, rows, addresses), our_files(name)
    network = "[Match]\n" + "".join(f"Path=pci-{a}\n" for a in pci) + "\n[Link]\nUnmanaged=yes\n"
    rules = "".join(f'ACTION!="remove", SUBSYSTEM=="net", KERNELS=="{a}", ENV{{NM_UNMANAGED}}="1"\n' for a in pci)
    ids = _ids_of_rails_alone(document, rows, addresses, name)
    ethernets = {key: {"dhcp4": False, "dhcp6": False, "optional": True} for key in ids}
    # optional: netplan names every other interface to systemd-networkd-wait-online, which would wait for one that nobody configures.
    netplan = yaml.safe_dump({"network": {"version": 2, "ethernets": ethernets}}) if ids else ""
    return {
        paths["networkd"]: header + network if pci else "",
        paths["udev"]: header + rules if pci else "",
        paths["netplan"]: header + netplan if netplan else "",
    }


def _ids_of_rails_alone(
    document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], addresses: Mapping[str, str], name: str
) -> list[str]:
    """The ids of netplan that mean interfaces of rails and no other, such as that of management."""
    rails = {interface for row in rows for interface, _, _ in _interfaces(document, row, addresses)}
    stanzas = [s for s in _stanzas(document, name) if s.manager == "netplan"]
    return sorted(
        {s.key for s in stanzas if s.key in rails or _meant(document, s) & rails if _exact(s) and not _meant(document, s) - rails}
    )


def _meant(document: Mapping[str, Any], stanza: Stanza) -> set[str]:
    return {
        interface
        for device in document["devices"].values()
        for interface, about in device["interfaces"].items()
        if _matches(stanza, interface, about, f"pci-{device['address']}")
    }


def _exact(stanza: Stanza) -> bool:
    """Whether it names interfaces without a glob: one with a glob may mean interfaces of other cards, too."""
    return bool(stanza.macs) or bool(stanza.names and not any(set("*?[") & set(n) for n in stanza.names))


def _interfaces(
    document: Mapping[str, Any], row: Mapping[str, Any], addresses: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, str], str]]:
    """Interface, what is known of it, and PCI address of a rail."""
    wanted = addresses.get(row["device"], "")
    for name, device in document["devices"].items():
        if device["address"] == wanted if wanted else name == row["device"]:
            for interface, about in device["interfaces"].items():
                yield interface, about, device["address"]


def _effective(stanzas: Sequence[Stanza], interface: str, about: Mapping[str, str], path: str) -> Iterator[Stanza]:
    """The stanzas that count for an interface: of networkd the first file that matches (systemd.network(5)), netplan's behind it."""
    matching = [s for s in stanzas if _matches(s, interface, about, path)]
    networkd = sorted((s for s in matching if s.manager == "systemd-networkd"), key=lambda s: s.file.rpartition("/")[2])
    first = networkd[0] if networkd else None
    if first:
        yield first
    for stanza in matching:
        behind = first is not None and first.file.rpartition("/")[2] < "10-netplan-"
        if stanza.manager in ("NetworkManager", "ifupdown") or (stanza.manager == "netplan" and not behind):
            yield stanza


def _matches(stanza: Stanza, interface: str, about: Mapping[str, str], path: str) -> bool:
    mac = about["mac"]
    if stanza.macs and mac not in stanza.macs:
        return False
    # A physical port has no kind (systemd.network(5)).
    kind, type_ = "", "infiniband" if len(mac) == _IPOIB_MAC_CHARACTERS else "ether"
    of_port = (
        (stanza.names, interface),
        (stanza.paths, path),
        (stanza.drivers, about["driver"]),
        (stanza.kinds, kind),
        (stanza.types, type_),
    )
    return all(_among(value, globs) for globs, value in of_port)


def _among(value: str, globs: Sequence[str]) -> bool:
    """net_condition_test_strv of systemd: none of the globs behind `!`, and one of the others where there are any."""
    if value and any(fnmatch.fnmatchcase(value, g[1:]) for g in globs if g.startswith("!")):
        return False
    wanted = [g for g in globs if not g.startswith("!")]
    return not wanted or bool(value and any(fnmatch.fnmatchcase(value, g) for g in wanted))


def _gives(stanza: Stanza, address: str) -> bool:
    own = ipaddress.ip_interface(address)
    return any(_interface(a) == own for a in stanza.addresses)


def _interface(address: str) -> object:
    """An address with its prefix; None for what is none."""
    try:
        return ipaddress.ip_interface(address)
    except ValueError:
        return None


def _stanzas(document: Mapping[str, Any], name: str) -> list[Stanza]:
    """What all files declare but those of our takeover."""
    return stanzas_of({path: text for path, text in document["files"].items() if path not in our_files(name).values()})


class FilterModule:
    """The filters of the shared tasks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {
            "network_owners": owners,
            "network_owner_lines": lines,
            "network_still_managed": still_managed,
            "network_takeover": takeover_texts,
        }
