"""One result of `clusterctl doctor`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the doctor.

    Attributes:
        hint: what to do where it is not `ok`.
        required: provisioning does not work without it.
    """

    name: str
    ok: bool
    found: str
    hint: str = ""
    required: bool = True
