"""The lists of nodes that `report --hosts` prints."""

from __future__ import annotations

from enum import StrEnum


class HostsOfRun(StrEnum):
    """`exclude` has the failing nodes, for Slurm's option of that name."""

    PASSING = "passing"
    FAILING = "failing"
    EXCLUDE = "exclude"
