"""Whether the machine is a virtual one, whose hypervisor has what some checks are about."""

from clusterctl_validators.probe import Probe


def is_virtual_machine(probe: Probe) -> bool:
    """A container is the machine below it."""
    if probe.run(["systemd-detect-virt", "--container"]).rc == 0:
        return False
    return probe.run(["systemd-detect-virt", "--vm"]).rc == 0
