"""Small differences between devices: fixed by their names, so that a repeated measurement repeats."""

from __future__ import annotations

import hashlib


def variation_factor(*names: str, spread: float = 0.002) -> float:
    """A number in 1 - spread .. 1 + spread that follows from the names."""
    share = int(hashlib.sha256("/".join(names).encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
    return 1 + spread * (2 * share - 1)
