"""ibv_devinfo: a port of an RDMA device."""

import re
from typing import List, Optional

_ACTIVE_MTU = re.compile(r"^\s*active_mtu:\s+(\d+)", re.MULTILINE)


def port_argv(device: str, port: int) -> List[str]:
    """The command that prints one port."""
    return ["ibv_devinfo", "-d", device, "-i", str(port)]


def parse_active_mtu(text: str) -> Optional[str]:
    """The MTU of RDMA packets in bytes; None if it is not shown."""
    found = _ACTIVE_MTU.search(text)
    return found.group(1) if found else None
