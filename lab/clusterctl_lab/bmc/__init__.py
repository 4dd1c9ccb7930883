"""A Redfish BMC for every lab node.

sushy-tools does not fit: it serves all systems on one port, while each real node has a BMC at its own address. Its fake driver has no
BIOS, and BIOS changes must stay pending until a reset. It would also add Flask and libvirt as dependencies.
"""
