"""Small differences between devices, derived from their names, so that repeated measurements agree."""

from __future__ import annotations

import hashlib


def variation_factor(*names: str, spread: float = 0.002) -> float:
    """A factor between 1 - spread and 1 + spread, derived from the names."""
    share = int(hashlib.sha256("/".join(names).encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
    return 1 + spread * (2 * share - 1)
