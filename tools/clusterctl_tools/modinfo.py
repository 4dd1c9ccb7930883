"""modinfo: what a kernel module states about itself."""

from typing import List


def field_argv(field: str, module: str) -> List[str]:
    """The command that prints one field (version, license, filename, vermagic, signer) of a module or of its file."""
    return ["modinfo", "-F", field, module]


def release_of(vermagic: str) -> str:
    """The kernel release that a module was built for; empty without one."""
    return vermagic.split(maxsplit=1)[0] if vermagic.split() else ""
