"""Owner and mode of a file, as `stat` prints them."""

from dataclasses import dataclass
from typing import Optional

from clusterctl_validators.probe import Probe


@dataclass(frozen=True)
class FileMode:
    """E.g. `root`, `644`."""

    owner: str
    mode: str


def read_mode(probe: Probe, path: str) -> Optional[FileMode]:
    """None if the file is absent."""
    found = probe.owner_and_mode(path)
    return FileMode(*found) if found else None
