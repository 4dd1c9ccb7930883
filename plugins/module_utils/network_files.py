"""What files of netplan, systemd-networkd, NetworkManager and ifupdown declare for interfaces: stanzas, with file and line. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import yaml
from ansible_collections.clusterctl.gpu.plugins.module_utils import ifupdown_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_YES = ("true", "yes", "on", "y", "1")
# The last three are older words, which systemd still reads (97c3506, config_parse_dhcp of networkd-dhcp-common.c).
_DHCP = (*_YES, "ipv4", "ipv6", "both", "v4", "v6")
# svGetValueBoolean of NetworkManager; its common.h has the ends of names that it skips.
_IFCFG_YES, _IFCFG_NO = ("yes", "true", "t", "y", "1"), ("no", "false", "f", "n", "0")
_SKIPPED = (".bak", "~", ".orig", ".rej", ".rpmnew", ".augnew", ".augtmp")

# Of ports; the second is the long name of the first (nm-settings-keyfile(5)).
_TYPES = ("ethernet", "802-3-ethernet", "infiniband")


class Stanza(NamedTuple):
    """What a file declares for interfaces.

    Attributes:
        key: the id in netplan; otherwise empty.
        names: globs of interface names; macs: MAC addresses; drivers, kinds, types: globs of these; paths: globs of ID_PATH. What is empty matches all.
        dhcp: whether it requests an address or router advertisements.
        addresses: those that it gives.
        unmanaged: it keeps the manager away from the interface.
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
    drivers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


def stanzas_of(files: Mapping[str, str]) -> list[Stanza]:
    """What the files (path -> text) declare."""
    found = list(_netplan({p: t for p, t in files.items() if "/netplan/" in p}))
    for path, text in files.items():
        if path.endswith(".network"):
            found += _networkd(path, text)
        elif path.endswith(".nmconnection"):
            found += _keyfile(path, text)
        elif "/ifcfg-" in path:
            found += _ifcfg(path, text)
    ours = [(path, text) for path, text in files.items() if path.startswith(ifupdown_files.FOLDER)]
    found += [
        Stanza("ifupdown", s.file, s.line, names=(s.name,), dhcp=s.dynamic, addresses=s.addresses)
        for s in ifupdown_files.iface_stanzas(ours)
    ]
    return found


def _netplan(files: Mapping[str, str]) -> Iterator[Stanza]:
    """One stanza for each id: later files override earlier ones, by name and not by folder (netplan-generate(8))."""
    by_name = {path.rpartition("/")[2]: path for path in files}
    merged: dict[str, dict[str, Any]] = {}
    for path in (by_name[name] for name in sorted(by_name)):
        for key, (line, declared) in _ethernets(files[path]).items():
            before = merged.get(key, {"file": path, "line": line, "addresses": []})
            requests = any(str(declared.get(k, "")).lower() in _YES for k in ("dhcp4", "dhcp6"))
            here = {"file": path, "line": line} if requests or "file" not in before else {}
            both = {**before, **declared, **here}
            merged[key] = {**both, "addresses": [*before["addresses"], *(declared.get("addresses") or [])]}
    for key, stanza in merged.items():
        match = stanza.get("match") or {}
        # An interface that netplan renames is matched by its new name, and an empty match is any (append_match_section of netplan, networkd.c).
        names = stanza.get("set-name") or match.get("name", [] if "match" in stanza else key)
        yield Stanza(
            "netplan",
            stanza["file"],
            stanza["line"],
            key,
            _several(names),
            (str(match["macaddress"]).lower(),) if match.get("macaddress") else (),
            any(str(stanza.get(k, "")).lower() in _YES for k in ("dhcp4", "dhcp6")),
            tuple(a if isinstance(a, str) else str(next(iter(a))) for a in stanza["addresses"]),
            drivers=_several(match.get("driver") or ()),
        )


def _several(words: Any) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(map(str, words))


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
    if not match:
        return

    def words(*keys: str) -> tuple[str, ...]:
        """`!` before a list inverts each of its words."""
        return tuple("!" * v.startswith("!") + w for key, v, _ in match if key in keys for w in v.removeprefix("!").split())

    network = [*sections.get("Network", []), *sections.get("Address", [])]
    dhcp = any(k == "DHCP" and v.lower() in _DHCP for k, v, _ in network)
    unmanaged = any(k == "Unmanaged" and v.lower() in _YES for k, v, _ in sections.get("Link", []))
    given = tuple(v for k, v, _ in network if k == "Address")
    yield Stanza(
        "systemd-networkd",
        path,
        match[0][2],
        names=words("Name"),
        macs=tuple(m.lower() for m in words("MACAddress", "PermanentMACAddress")),
        dhcp=dhcp,
        addresses=given,
        unmanaged=unmanaged,
        paths=words("Path"),
        drivers=words("Driver"),
        kinds=words("Kind"),
        types=words("Type"),
    )


def _keyfile(path: str, text: str) -> Iterator[Stanza]:
    sections = _sections(text)
    connection = {k: (v, n) for k, v, n in sections.get("connection", [])}
    kind = connection.get("type", ("", 0))[0]
    if connection.get("autoconnect", ("true", 0))[0] == "false" or kind not in _TYPES:
        return
    name, line = connection.get("interface-name", ("", 1))
    matched = {k: tuple(filter(None, v.split(";"))) for k, v, _ in sections.get("match", [])}
    macs = tuple(v.lower() for section in _TYPES for k, v, _ in sections.get(section, []) if k == "mac-address")
    both = [*sections.get("ipv4", []), *sections.get("ipv6", [])]
    given = tuple(v.split(",")[0] for k, v, _ in both if re.fullmatch(r"address\d+", k))
    dhcp = any(k == "method" and v in ("auto", "dhcp") for k, v, _ in both)
    yield Stanza(
        "NetworkManager",
        path,
        line,
        names=(name,) if name else matched.get("interface-name", ()),
        macs=macs,
        dhcp=dhcp,
        addresses=given,
        paths=matched.get("path", ()),
        drivers=matched.get("driver", ()),
    )


def _ifcfg(path: str, text: str) -> Iterator[Stanza]:
    lines = _sections(text).get("", [])
    values, line = {k: v for k, v, _ in lines}, next((n for k, _, n in lines if k == "DEVICE"), 1)
    name, mac = values.get("DEVICE", ""), values.get("HWADDR", "").lower()
    if path.endswith(_SKIPPED) or _has_value(values, "ONBOOT", _IFCFG_NO) or not (name or mac):
        return
    given = (*_ipv4_of(values), *f"{values.get('IPV6ADDR', '')} {values.get('IPV6ADDR_SECONDARIES', '')}".split())
    dhcp = values.get("BOOTPROTO", "").lower() in ("dhcp", "bootp") or _requests_by_ipv6(values)
    # Whether the network scripts of EL 8 would take it up is not known, so what requests or gives counts.
    if _has_value(values, "NM_CONTROLLED", _IFCFG_NO) and not dhcp and not given:
        return
    yield Stanza("NetworkManager", path, line, names=(name,) if name else (), macs=(mac,) if mac else (), dhcp=dhcp, addresses=given)


def _ipv4_of(values: Mapping[str, str]) -> Iterator[str]:
    """`IPADDR` and `IPADDR1` with the prefix or mask of the same number."""
    for key, address in values.items():
        number = re.fullmatch(r"IPADDR(\d*)", key)
        if number:
            yield f"{address}/{values.get('PREFIX' + number[1]) or values.get('NETMASK' + number[1]) or '32'}"


def _requests_by_ipv6(values: Mapping[str, str]) -> bool:
    """NetworkManager, nms-ifcfg-rh-reader.c, make_ip6_setting."""
    listens = "IPV6_AUTOCONF" not in values and not _has_value(values, "IPV6FORWARDING", _IFCFG_YES)
    requests = listens or _has_value(values, "IPV6_AUTOCONF", _IFCFG_YES) or _has_value(values, "DHCPV6C", _IFCFG_YES)
    return _has_value(values, "IPV6INIT", _IFCFG_YES) and requests


def _has_value(values: Mapping[str, str], key: str, words: Sequence[str]) -> bool:
    return values.get(key, "").lower() in words
