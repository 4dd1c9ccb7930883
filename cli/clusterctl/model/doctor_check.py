"""One result of `clusterctl doctor`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor. `required`: without it the main job cannot be done."""

    name: str
    ok: bool
    found: str
    hint: str = ""
    required: bool = True
