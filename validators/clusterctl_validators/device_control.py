"""The Device Control register of a PCI function of this node."""

from clusterctl_tools.setpci import DeviceControl, UnreadableRegisterError, device_control_argv, parse_device_control
from clusterctl_validators.probe import Probe


def read_device_control(probe: Probe, address: str) -> DeviceControl:
    """The register of the function at a PCI address. Raises UnreadableRegisterError."""
    answer = probe.run(device_control_argv(address))
    try:
        return parse_device_control("" if answer.error else answer.stdout)
    except UnreadableRegisterError as e:
        raise UnreadableRegisterError(answer.error or answer.stderr.strip() or str(e)) from e
