"""dkms: modules that are built for each kernel."""

import re
from dataclasses import dataclass
from typing import List

STATUS = ("dkms", "status")
# `nvidia/580.126.20, 6.8.0-1046-nvidia, x86_64: installed`, `nvidia/580.126.20: added`; DKMS 2 has a comma instead of the slash.
_ROW = re.compile(
    r"(?P<name>[^,/: ]+)(?:/|, )(?P<version>[^,: ]+)(?:, (?P<kernel>[^,: ]+), [^,: ]+)?: (?P<state>\w+)(?P<differs> \(WARNING! Diff)?"
)


@dataclass(frozen=True)
class DkmsModule:
    """A row of `dkms status`: `kernel` is empty before it was built; `state` is added, built or installed.

    Attributes:
        differs: what lies in /lib/modules is another file than the one that was built: another build, or signed or stripped afterwards (dkms issue 167).
    """

    name: str
    version: str
    kernel: str
    state: str
    differs: bool = False


def parse_status(text: str) -> List[DkmsModule]:
    """The rows; other lines, such as warnings, are left out."""
    found = [m for m in map(_ROW.match, text.splitlines()) if m]
    return [
        DkmsModule(m.group("name"), m.group("version"), m.group("kernel") or "", m.group("state"), bool(m.group("differs"))) for m in found
    ]
