"""The digest of a spec: what a node is admitted under."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def canonical_json(value: Any) -> str:
    """JSON with one form per value: sorted keys, no blanks, UTF-8 as it is, no NaN.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def spec_digest(roles: Mapping[str, Mapping[str, Any]]) -> str:
    """Sha256 (hex) of the canonical JSON of `roles`; the order of roles and keys does not matter."""
    return hashlib.sha256(canonical_json(roles).encode()).hexdigest()
