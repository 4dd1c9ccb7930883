"""cma_roce_tos and cma_roce_mode of mlnx-tools: what connections of the RDMA CM get."""

import re
from typing import List, Optional


def tos_argv(device: str, port: int) -> List[str]:
    """The command that prints the type of service."""
    return ["cma_roce_tos", "-d", device, "-p", str(port)]


def mode_argv(device: str, port: int) -> List[str]:
    """The command that prints the version of RoCE."""
    return ["cma_roce_mode", "-d", device, "-p", str(port)]


def parse_tos(text: str) -> Optional[str]:
    """The type of service; None if none is shown."""
    found = re.search(r"(?:^|\s)(\d+)\s*$", text)
    return found.group(1) if found else None


def parse_mode(text: str) -> Optional[str]:
    """`1` or `2`; None if none is shown."""
    found = re.search(r"RoCE v(\d)", text)
    return found.group(1) if found else None
