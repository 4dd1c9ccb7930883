from __future__ import annotations

import pytest

from clusterctl_validators.spec_view import SpecView


def test_reads_are_recorded() -> None:
    spec = SpecView("r", {"r_a": 1, "r_b": 2, "r_c": 3})
    assert spec["r_a"] == 1
    assert spec.get("r_missing", 5) == 5
    assert "r_b" in spec
    assert len(spec) == 3
    assert spec.read_keys == {"r_a", "r_missing", "r_b"}


def test_items_reads_all() -> None:
    spec = SpecView("r", {"r_a": 1, "r_b": 2})
    assert dict(spec.items()) == {"r_a": 1, "r_b": 2}
    assert spec.read_keys == {"r_a", "r_b"}


def test_missing_variable_is_named() -> None:
    with pytest.raises(KeyError, match="the spec of r has no r_x"):
        SpecView("r", {})["r_x"]
