"""modinfo: what a kernel module states about itself."""

import re
from typing import Dict, List

# The name fills 16 columns; parameters and a signature have more lines.
_FIELD = re.compile(r"^(\w+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def fields_argv(module: str) -> List[str]:
    """The command that prints all fields of a module: it unpacks the file each time, so one call reads them all."""
    return ["modinfo", module]


def parse_fields(text: str) -> Dict[str, str]:
    """Field (version, license, filename, vermagic, signer) -> value, the first one where a field is repeated; empty for no module."""
    fields: Dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, value)
    return fields


def release_of(vermagic: str) -> str:
    """The kernel release that a module was built for; empty without one."""
    return vermagic.split(maxsplit=1)[0] if vermagic.split() else ""
