"""The Device Control register of a PCI function of this node."""

from clusterctl_tools.setpci import DeviceControl, UnreadableRegisterError, device_control_argv, parse_device_control
from clusterctl_validators.probe import Probe
from clusterctl_validators.secure_boot import lockdown


def read_device_control(probe: Probe, address: str) -> DeviceControl:
    """The register of the function at a PCI address. Raises UnreadableRegisterError."""
    answer = probe.run(device_control_argv(address))
    try:
        return parse_device_control("" if answer.error else answer.stdout)
    except UnreadableRegisterError as e:
        raise UnreadableRegisterError(answer.error or answer.stderr.strip() or str(e)) from e


def next_action(probe: Probe, usual: str) -> str:
    """What to do about a register with another value: the usual, except where the kernel lets no program write it (pci_write_config, pci-sysfs.c)."""
    mode = lockdown(probe)
    if not mode:
        return usual
    return "the kernel is locked down ({}) and lets no program write PCI registers: turn Secure Boot off, or do not declare them".format(
        mode
    )
