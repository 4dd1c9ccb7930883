"""The link type of the HCAs, InfiniBand or Ethernet: LINK_TYPE_P1 of their NV configuration at boot. All HCAs have the same."""

from __future__ import annotations

from . import machine, nv_config
from .pseudo_files import write_files
from .state import RUN, read

_FILE = "link-type"
_ETHERNET = "2"


def on_boot() -> None:
    """Take the link type from the current NV configuration: Ethernet if all HCAs are set to it."""
    types = {nv_config.current_config(index)["LINK_TYPE_P1"] for index in machine.live_hcas()}
    write_files(RUN, {_FILE: "ETH" if types == {_ETHERNET} else "IB"})


def is_ethernet() -> bool:
    """Whether the HCAs are Ethernet; ConnectX-7 is delivered as InfiniBand."""
    return read(f"{RUN}/{_FILE}") == "ETH"
