"""The NVIDIA driver in a container of the GPU Operator: its programs are not on the node, but below the root that the container mounts there."""

from typing import List, Sequence

# NVIDIA/gpu-operator, the validator's Driver.runValidation, runs nvidia-smi there by chroot
# Assumed: a chroot into it works from the checks' read-only view of the node; no node with a driver container was seen.
ROOT = "/run/nvidia/driver"


def program(name: str) -> str:
    """Where a program of the driver is."""
    return "{}/usr/bin/{}".format(ROOT, name)


def argv_inside(argv: Sequence[str]) -> List[str]:
    """A command line, run below that root."""
    return ["chroot", ROOT, *argv]
