"""ibstatus: the short form of ibstat."""

from __future__ import annotations

import os

from . import state
from .ibstat import ROOT

_ROWS = {"default gid:\t": "gids/0", "base lid:\t": "lid", "sm lid:\t\t": "sm_lid", "state:\t\t": "state", "phys state:\t": "phys_state"}
_ROWS |= {"rate:\t\t": "rate", "link_layer:\t": "link_layer"}
_FATAL = 255


def main(argv: list[str], _version: str) -> int:
    """Show all HCAs, or those named, each with its port after a colon."""
    if not os.path.isdir(ROOT):
        return _fatal("No devices")
    for word in argv[1:] or sorted(os.listdir(ROOT)) or ["*"]:
        name, _, port = word.partition(":")
        if not os.path.isdir(f"{ROOT}/{name}/ports"):
            return _fatal(f"device '{name}': sys files not found ({ROOT}/{name}/ports)")
        print(_port_text(name, port or "1"))
    return 0


def _port_text(name: str, port: str) -> str:
    at = f"{ROOT}/{name}/ports/{port}"
    rows = "".join(f"\t{label} {state.read(f'{at}/{file}') or 'unknown'}\n" for label, file in _ROWS.items())
    return f"Infiniband device '{name}' port {port} status:\n{rows}"


def _fatal(reason: str) -> int:
    print(f"Fatal error:  {reason}")
    return _FATAL
