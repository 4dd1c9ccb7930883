from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.core.digest import canonical_json, spec_digest

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
ROLES = st.dictionaries(st.text(min_size=1), st.dictionaries(st.text(), VALUES, max_size=4), max_size=4)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: reversed_keys(value[k]) for k in reversed(value)}
    return [reversed_keys(v) for v in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(ROLES)
def test_the_order_of_keys_does_not_matter(roles: dict[str, dict[str, Any]]) -> None:
    assert spec_digest(roles) == spec_digest(reversed_keys(roles))


@settings(deadline=None)
@given(ROLES, st.text(min_size=1), VALUES)
def test_any_change_changes_the_digest(roles: dict[str, dict[str, Any]], role: str, value: Any) -> None:
    changed = {**roles, role: {"new": value, "also": 1}}
    if changed != roles:
        assert spec_digest(changed) != spec_digest(roles)


def test_the_digest_is_the_same_tomorrow() -> None:
    roles = {"pages": {"pages_owner": "Zoë", "pages_sizes": [1024], "pages_enabled": False, "pages_x": None}}
    assert canonical_json(roles) == '{"pages":{"pages_enabled":false,"pages_owner":"Zoë","pages_sizes":[1024],"pages_x":null}}'
    assert spec_digest(roles) == "4bc9db10baf3c876517cf132e0d44bc49446757f2b7263cbfb8192dec4970ca8"


def test_types_count() -> None:
    digests = {spec_digest({"a": {"v": v}}) for v in (1, "1", True, None, [1], "true", 1.5)}
    assert len(digests) == 7


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": math.nan})
