"""Whether every cable ends where the cabling plan declares: LLDP for Ethernet ports, the fabric itself for InfiniBand ports."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from clusterctl_tools import lldpctl
from clusterctl_tools.infiniband_diags import UnreadableFabricError, links_argv, parse_iblinkinfo
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.rail_interface import interface_of
from clusterctl_validators.record import Record


@dataclass(frozen=True)
class Peer:
    """The far end of a cable: all names of the switch and of its port; the first is shown."""

    names: Tuple[str, ...]
    ports: Tuple[str, ...]

    def is_at(self, name: str, port: str) -> bool:
        """Whether this is that port of that switch."""
        return name in self.names and port in self.ports

    def __str__(self) -> str:
        return "{} port {}".format(self.names[0], self.ports[0])


class NoPeerError(Exception):
    """The far end is unknown. `unplugged`: no peer is connected, as opposed to a query that failed."""

    def __init__(self, text: str, *, unplugged: bool) -> None:
        super().__init__(text)
        self.unplugged = unplugged


def check_cabling(record: Record, probe: Probe, plan: List[Dict[str, Any]]) -> None:
    """One finding `<role>.cabling[<device>]` per cable of the plan; it names the expected and the found switch port."""
    name = "{}.cabling".format(record.role)
    if not plan:
        record.not_applicable(name, "no cabling plan is declared")
    for cable in plan:
        device, port = cable["device"], int(cable.get("port") or 1)
        check = "{}[{}]".format(name, device if port == 1 else "{}/{}".format(device, port))
        expected = "{} port {}".format(cable["peer"], cable["peer_port"])
        try:
            peer = find_peer(probe, device, port)
        except NoPeerError as e:
            if e.unplugged:
                record.ok(check, False, expected=expected, found=str(e), severity=Severity.CRITICAL, hint="connect the cable of " + device)
            else:
                record.could_not_run(check, str(e), Severity.CRITICAL)
            continue
        right = peer.is_at(cable["peer"], str(cable["peer_port"]))
        found = expected if right else str(peer)
        record.ok(check, right, expected=expected, found=found, severity=Severity.CRITICAL, hint=_hint(device, peer, plan, expected))


def _hint(device: str, peer: Peer, plan: List[Dict[str, Any]], expected: str) -> str:
    owner = next((c["device"] for c in plan if c["device"] != device and peer.is_at(c["peer"], str(c["peer_port"]))), "")
    exchanged = " (the plan has {} on that port: are the cables swapped?)".format(owner) if owner else ""
    return "move the cable of {} to {}{}, or correct the plan".format(device, expected, exchanged)


def find_peer(probe: Probe, device: str, port: int) -> Peer:
    """The far end of the cable of a port. Raises NoPeerError."""
    layer = probe.read("/sys/class/infiniband/{}/ports/{}/link_layer".format(device, port))
    if layer is None:
        raise NoPeerError("{} has no port {}".format(device, port), unplugged=False)
    return _by_lldp(probe, device, port) if layer == "Ethernet" else _by_fabric(probe, device, port)


def _by_lldp(probe: Probe, device: str, port: int) -> Peer:
    interface = interface_of(probe, device, port)
    result = probe.run(lldpctl.NEIGHBOURS)
    if result.error or result.rc != 0:
        raise NoPeerError("lldpctl: {}".format(result.error or result.stderr.strip()), unplugged=False)
    try:
        found = lldpctl.parse(result.stdout).get(interface, [])
    except lldpctl.UnreadableLldpError as e:
        raise NoPeerError(str(e), unplugged=False) from e
    if not found:
        raise NoPeerError("no LLDP neighbour on {}".format(interface or "an absent interface"), unplugged=True)
    peers = [Peer((neighbour.name,), tuple(neighbour.ports)) for neighbour in found]
    if len(peers) > 1:
        raise NoPeerError(
            "{} LLDP neighbours on {}, but a cable has one: {}".format(len(peers), interface, ", ".join(map(str, peers))), unplugged=False
        )
    return peers[0]


def _by_fabric(probe: Probe, device: str, port: int) -> Peer:
    # A direct route of no hops queries this one link only: it needs no subnet manager and puts no load on the fabric.
    result = probe.run(links_argv(device, port, "0"))
    if result.error or result.rc != 0:
        raise NoPeerError("iblinkinfo: {}".format(result.error or result.stderr.strip()), unplugged=False)
    end = far_end(result.stdout, port)
    if end is None:
        raise NoPeerError("no link", unplugged=True)
    return end


def far_end(text: str, port: int) -> Optional[Peer]:
    """The far end of the link of `port`; None if that port has no link. Raises NoPeerError for text in another format."""
    try:
        links = parse_iblinkinfo(text)
    except UnreadableFabricError as e:
        if "Down/" in text:
            return None
        raise NoPeerError(str(e), unplugged=False) from e
    far = next((link.far for link in links if link.near.port == port), None)
    return Peer((far.host, far.name), (str(far.port),)) if far else None
