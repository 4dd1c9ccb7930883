"""Whether the HCAs of this machine are InfiniBand or Ethernet: LINK_TYPE_P1 of their NV configuration, as it was at boot. All are of one type."""

from __future__ import annotations

from . import machine, nv_config
from .pseudo_files import write_files
from .state import RUN, read

_FILE = "link-type"
_ETHERNET = "2"


def on_boot() -> None:
    """Read the NV configuration that this boot brought into force."""
    types = {nv_config.current_config(index)["LINK_TYPE_P1"] for index in range(machine.HCAS)}
    write_files(RUN, {_FILE: "ETH" if types == {_ETHERNET} else "IB"})


def is_ethernet() -> bool:
    """ConnectX-7 comes as InfiniBand."""
    return read(f"{RUN}/{_FILE}") == "ETH"
