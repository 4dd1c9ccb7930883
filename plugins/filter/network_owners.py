"""Who configures the interfaces of rails besides their role: stanzas of netplan, systemd-networkd and NetworkManager, with file and line.

Two owners of one interface do not agree: DHCP without an answer delays each boot by 120 s (systemd-networkd-wait-online.service(8), --timeout=), and a
manager removes addresses that it did not give. Ubuntu's installer puts Ethernet ports on DHCP, in /etc/netplan/50-cloud-init.yaml (24.04:
kubernetes-sigs/image-builder pull request 1480) or 00-installer-config.yaml (22.04; canonical/subiquity pull request 2197). cloud-init writes the first one
anew for a new instance, so nothing edits it: a takeover adds files of its own.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_YES = ("true", "yes", "on", "y", "1")


class Stanza(NamedTuple):
    """What a file says of interfaces.

    Attributes:
        key: the id in netplan; otherwise empty.
        names: globs of interface names; macs: MAC addresses; both empty means all Ethernet interfaces.
        dhcp: whether it asks for an address or router advertisements.
        addresses: those that it gives.
        unmanaged: it keeps the manager away from the interface.
        paths: PCI paths as in ID_PATH.
    """

    manager: str
    file: str
    line: int
    key: str = ""
    names: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    dhcp: bool = False
    addresses: tuple[str, ...] = ()
    unmanaged: bool = False
    paths: tuple[str, ...] = ()


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
        for stanza in _effective(stanzas, interface, about["mac"], f"pci-{pci}")
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
        if _matches(stanza, interface, about["mac"], f"pci-{device['address']}")
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


def _effective(stanzas: Sequence[Stanza], interface: str, mac: str, path: str) -> Iterator[Stanza]:
    """The stanzas that count for an interface: of networkd the first file that matches (systemd.network(5)), netplan's behind it."""
    matching = [s for s in stanzas if _matches(s, interface, mac, path)]
    networkd = sorted((s for s in matching if s.manager == "systemd-networkd"), key=lambda s: s.file.rpartition("/")[2])
    first = networkd[0] if networkd else None
    if first:
        yield first
    for stanza in matching:
        behind = first is not None and first.file.rpartition("/")[2] < "10-netplan-"
        if stanza.manager == "NetworkManager" or (stanza.manager == "netplan" and not behind):
            yield stanza


def _matches(stanza: Stanza, interface: str, mac: str, path: str) -> bool:
    if stanza.names and not any(fnmatch.fnmatchcase(interface, n) for n in stanza.names):
        return False
    if stanza.macs and mac not in stanza.macs:
        return False
    return not stanza.paths or any(fnmatch.fnmatchcase(path, p) for p in stanza.paths)


def _gives(stanza: Stanza, address: str) -> bool:
    own = ipaddress.ip_interface(address)
    return any(ipaddress.ip_interface(a) == own for a in stanza.addresses)


def _stanzas(document: Mapping[str, Any], name: str) -> list[Stanza]:
    """What all files say but those of our takeover."""
    files = {path: text for path, text in document["files"].items() if path not in our_files(name).values()}
    netplan = {p: t for p, t in files.items() if "/netplan/" in p}
    found = list(_netplan(netplan))
    for path, text in files.items():
        if path.endswith(".network"):
            found += _networkd(path, text)
        elif path.endswith(".nmconnection"):
            found += _keyfile(path, text)
        elif "/ifcfg-" in path:
            found += _ifcfg(path, text)
    return found


def _netplan(files: Mapping[str, str]) -> Iterator[Stanza]:
    """One stanza for each id: later files override earlier ones, by name and not by folder (netplan-generate(8))."""
    by_name = {path.rpartition("/")[2]: path for path in files}
    merged: dict[str, dict[str, Any]] = {}
    for path in (by_name[name] for name in sorted(by_name)):
        for key, (line, declared) in _ethernets(files[path]).items():
            before = merged.get(key, {"file": path, "line": line, "addresses": []})
            asks = any(str(declared.get(k, "")).lower() in _YES for k in ("dhcp4", "dhcp6"))
            here = {"file": path, "line": line} if asks or "file" not in before else {}
            both = {**before, **declared, **here}
            merged[key] = {**both, "addresses": [*before["addresses"], *(declared.get("addresses") or [])]}
    for key, stanza in merged.items():
        match = stanza.get("match") or {}
        names = match.get("name", [] if match else key)
        yield Stanza(
            "netplan",
            stanza["file"],
            stanza["line"],
            key,
            tuple([names] if isinstance(names, str) else names),
            (str(match["macaddress"]).lower(),) if match.get("macaddress") else (),
            any(str(stanza.get(k, "")).lower() in _YES for k in ("dhcp4", "dhcp6")),
            tuple(a if isinstance(a, str) else str(next(iter(a))) for a in stanza["addresses"]),
        )


def _ethernets(text: str) -> dict[str, tuple[int, dict[str, Any]]]:
    """Id -> line and content of the Ethernet interfaces in a file of netplan; none in a file that netplan could not read either."""
    try:
        root, values = cast("yaml.MappingNode", yaml.compose(text, Loader=yaml.SafeLoader)), yaml.safe_load(text)
        declared = values["network"].get("ethernets") or {}
        network = next(value for key, value in root.value if key.value == "network")
        ethernets = next(value for key, value in network.value if key.value == "ethernets")
    except (yaml.YAMLError, StopIteration, TypeError, KeyError, AttributeError):
        return {}
    return {str(key.value): (key.start_mark.line + 1, declared[key.value] or {}) for key, _ in ethernets.value if key.value in declared}


def _sections(text: str) -> dict[str, list[tuple[str, str, int]]]:
    """Section -> key, value, line of an ini file."""
    found: dict[str, list[tuple[str, str, int]]] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.fullmatch(r"\s*\[(.+)\]\s*", line)
        if header:
            section = header[1]
        elif "=" in line and line.lstrip()[0] not in "#;":
            key, _, value = line.partition("=")
            found.setdefault(section, []).append((key.strip(), value.strip().strip("\"'"), number))
    return found


def _networkd(path: str, text: str) -> Iterator[Stanza]:
    sections = _sections(text)
    match = sections.get("Match", [])
    words = {
        k: [w for key, v, _ in match if key == k for w in v.split()]
        for k in ("Name", "MACAddress", "Path", "Type", "Driver", "OriginalName")
    }
    if not match or (words["Type"] and "ether" not in words["Type"]):
        return
    network = [*sections.get("Network", []), *sections.get("Address", [])]
    dhcp = any(k == "DHCP" and v.lower() in (*_YES, "ipv4", "ipv6") for k, v, _ in network)
    unmanaged = any(k == "Unmanaged" and v.lower() in _YES for k, v, _ in sections.get("Link", []))
    given = tuple(v for k, v, _ in network if k == "Address")
    yield Stanza(
        "systemd-networkd",
        path,
        match[0][2],
        names=tuple(words["Name"]),
        macs=tuple(m.lower() for m in words["MACAddress"]),
        dhcp=dhcp,
        addresses=given,
        unmanaged=unmanaged,
        paths=tuple(words["Path"]),
    )


def _keyfile(path: str, text: str) -> Iterator[Stanza]:
    sections = _sections(text)
    connection = {k: (v, n) for k, v, n in sections.get("connection", [])}
    kind = connection.get("type", ("", 0))[0]
    if connection.get("autoconnect", ("true", 0))[0] == "false" or kind not in ("ethernet", "802-3-ethernet", "infiniband"):
        return
    name, line = connection.get("interface-name", ("", 1))
    macs = tuple(v.lower() for k, v, _ in sections.get(kind, []) if k == "mac-address")
    both = [*sections.get("ipv4", []), *sections.get("ipv6", [])]
    given = tuple(v.split(",")[0] for k, v, _ in both if re.fullmatch(r"address\d+", k))
    dhcp = any(k == "method" and v == "auto" for k, v, _ in both)
    yield Stanza("NetworkManager", path, line, names=(name,) if name else (), macs=macs, dhcp=dhcp, addresses=given)


def _ifcfg(path: str, text: str) -> Iterator[Stanza]:
    values = {k: (v, n) for k, v, n in _sections(text).get("", [])}
    if values.get("ONBOOT", ("yes", 0))[0] == "no":
        return
    name, line = values.get("DEVICE", ("", 1))
    mac = values.get("HWADDR", ("", 0))[0].lower()
    if not name and not mac:
        return
    address, prefix = values.get("IPADDR", ("", 0))[0], values.get("PREFIX", ("32", 0))[0]
    given = (f"{address}/{prefix}",) if address else ()
    dhcp = values.get("BOOTPROTO", ("", 0))[0] in ("dhcp", "bootp")
    yield Stanza("NetworkManager", path, line, names=(name,) if name else (), macs=(mac,) if mac else (), dhcp=dhcp, addresses=given)


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
