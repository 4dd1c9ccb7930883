"""Owner and mode of a file, from `stat`."""

from dataclasses import dataclass
from typing import Optional

from clusterctl_validators.probe import Probe


@dataclass(frozen=True)
class FileMode:
    """As `stat` prints them, e.g. `root`, `644`."""

    owner: str
    mode: str


def read_mode(probe: Probe, path: str) -> Optional[FileMode]:
    """None if the file is absent or `stat` fails."""
    result = probe.run(["stat", "-c", "%U %a", path])
    words = result.stdout.split()
    return FileMode(words[0], words[1]) if result.rc == 0 and len(words) == 2 else None
