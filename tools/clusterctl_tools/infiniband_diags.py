"""infiniband-diags: links of a fabric (`iblinkinfo -l`, `ibnetdiscover`), and its subnet manager (`sminfo`)."""

import re
from dataclasses import dataclass
from typing import Dict, List, Tuple

_MANAGER = re.compile(r"state \d+ (SMINFO_\w+)")


class UnreadableFabricError(Exception):
    """The text contains no link."""


@dataclass(frozen=True)
class End:
    """One end of a link: GUID of node or port without leading zeros, node description, port number."""

    guid: str
    name: str
    port: int

    @property
    def host(self) -> str:
        """The switch's own name: `A09-LEAF-04` of `MF0;A09-LEAF-04:MQM9700/U1`."""
        return self.name.partition(";")[2].partition(":")[0] or self.name


@dataclass(frozen=True)
class Link:
    """A link from one end to the other, with its width and speed as the tool writes them."""

    near: End
    far: End
    width: str
    speed: str


_LINE = re.compile(
    r'^0x(?P<guid>[0-9a-f]+)\s+"\s*(?P<name>.*?)\s*"\s+\d+\s+(?P<port>\d+)\[.*?\] '
    r"==\(\s*(?P<width>\d+X)\s+(?P<speed>\S.*?)\s+\S+/\s*\S+\)==>\s+"
    r'0x(?P<far_guid>[0-9a-f]+)\s+\d+\s+(?P<far_port>\d+)\[.*?\] "\s*(?P<far_name>.*?)\s*"'
)
_NODE = re.compile(r'^(?:Switch|Ca|Rt)\s+\d+\s+"[SHR]-(?P<guid>[0-9a-f]+)"\s+#\s*"\s*(?P<name>.*?)\s*"')
_PORT = re.compile(
    r'^\[(?P<port>\d+)\](?:\([0-9a-f]+\))?\s+"[SHR]-(?P<far_guid>[0-9a-f]+)"\[(?P<far_port>\d+)\](?:\([0-9a-f]+\))?\s+'
    r'#\s*(?:lid \d+ lmc \d+ )?"\s*(?P<far_name>.*?)\s*" lid \d+ (?P<width>\d+)x(?P<speed>[\w?]+)'
)


def links_argv(device: str, port: int, route: str, hops: int = -1) -> List[str]:
    """The command that prints the links of the switch or adapter at the end of a direct route (`0`, `0,1`) from a port.

    A direct route needs no subnet manager. `hops`: how far the fabric is discovered from there, 0 for not at all; -1 leaves it to the tool.
    """
    return ["iblinkinfo", "-l", "-C", device, "-P", str(port), "-D", route, *(["-n", str(hops)] if hops >= 0 else [])]


def manager_argv(device: str, port: int) -> List[str]:
    """The command that queries the subnet manager of a port."""
    return ["sminfo", "-C", device, "-P", str(port)]


def parse_manager(text: str) -> str:
    """The state of the subnet manager, `SMINFO_MASTER`; empty if none answers."""
    found = _MANAGER.search(text)
    return found.group(1) if found else ""


def parse_iblinkinfo(text: str) -> List[Link]:
    """The active links of `iblinkinfo -l`. Raises UnreadableFabricError if no line has the expected format."""
    links = []
    for line in text.splitlines():
        m = _LINE.match(line)
        if m:
            near = End(_guid(m["guid"]), m["name"], int(m["port"]))
            links.append(Link(near, End(_guid(m["far_guid"]), m["far_name"], int(m["far_port"])), m["width"], m["speed"]))
    if not links:
        raise UnreadableFabricError("iblinkinfo shows no link")
    return links


def parse_ibnetdiscover(text: str) -> List[Link]:
    """Every link, once from each end. Raises UnreadableFabricError if no line has the expected format."""
    links = []
    node = None
    for line in text.splitlines():
        head = _NODE.match(line)
        if head:
            node = (_guid(head["guid"]), head["name"])
        m = _PORT.match(line)
        if m and node:
            near = End(node[0], node[1], int(m["port"]))
            far = End(_guid(m["far_guid"]), m["far_name"], int(m["far_port"]))
            links.append(Link(near, far, m["width"] + "X", m["speed"]))
    if not links:
        raise UnreadableFabricError("ibnetdiscover shows no link")
    return links


def by_near_end(links: List[Link]) -> Dict[Tuple[str, int], Link]:
    """Links by GUID and port number of their near end."""
    return {(link.near.guid, link.near.port): link for link in links}


def _guid(text: str) -> str:
    return text.lstrip("0") or "0"
