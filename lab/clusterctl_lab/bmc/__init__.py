"""A Redfish BMC for every lab node.

Own code, not sushy-tools: its emulator serves one collection of systems on one port, while every real node has a BMC at an address of
its own; its fake driver has no BIOS, and BIOS changes must stay pending until a reset. Flask and libvirt stay out.
"""
