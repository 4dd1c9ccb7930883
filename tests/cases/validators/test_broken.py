"""A validator that cannot be imported."""

from __future__ import annotations

raise RuntimeError("this module is broken")
