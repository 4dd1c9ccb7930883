"""Errors that hardware raises only under load: the first tool that loads the GPUs after such a fault was injected brings them out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import state

if TYPE_CHECKING:
    from .state import Fault, Faults

# The supervisor watches this folder; its file lists the faults that load has brought out in this boot.
FOLDER = f"{state.RUN}/load"
_RAISED = "raised"


def begin() -> None:
    """A tool loads the GPUs; outside a lab node nothing happens."""
    hidden = state.read_faults().of("load_error")
    if hidden and os.path.isdir(FOLDER):
        keep_raised(hidden)


def keep_raised(faults: list[Fault]) -> None:
    """Record that these, and no others, have been brought out."""
    temporary = f"{FOLDER}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write("".join(f"{f.device} {f.option}\n" for f in faults))
    os.replace(temporary, f"{FOLDER}/{_RAISED}")


def raised_faults(faults: Faults) -> list[Fault]:
    """The active faults that load has brought out."""
    lines = state.read(f"{FOLDER}/{_RAISED}").splitlines()
    return [f for f in faults.of("load_error") if f"{f.device} {f.option}" in lines]


def raised(faults: Faults, kind: str) -> set[int]:
    """The GPUs on which load raised an error of a kind: `xid`, `row_remap`, `power_brake`, `sw_thermal`, `link_error`, `nvlink_error`."""
    return {int(f.device) for f in raised_faults(faults) if f.option == kind}
