"""A validator that records nothing."""

from __future__ import annotations

ROLE = "silent"


def test_nothing() -> None:
    assert ROLE
