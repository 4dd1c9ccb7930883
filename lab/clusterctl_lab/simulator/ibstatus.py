"""ibstatus: the short form of ibstat."""

from __future__ import annotations

import os

from . import state
from .ibstat import ROOT


def main(argv: list[str], _version: str) -> int:
    """Show all HCAs, or those named."""
    names = [w.partition(":")[0] for w in argv[1:]] or (sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else [])
    for name in names:
        port = f"{ROOT}/{name}/ports/1"
        rows = {"default gid": "gids/0", "base lid": "lid", "sm lid": "sm_lid", "state": "state", "phys state": "phys_state"}
        rows |= {"rate": "rate", "link_layer": "link_layer"}
        print(f"Infiniband device '{name}' port 1 status:")
        print("".join(f"\t{label + ':':<17}{state.read(f'{port}/{file}')}\n" for label, file in rows.items()))
    return 0
