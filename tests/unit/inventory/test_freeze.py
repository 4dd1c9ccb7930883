"""Equal stand-ins render equally: what must not be taken for equal."""

from __future__ import annotations

from typing import Any

from ansible._internal._datatag._tags import Origin, TrustedAsTemplate
from ansible.parsing.dataloader import DataLoader
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.adapters.inventory.ansible_worker.origins import freeze, plain, where, where_key, where_path

SCALARS = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3), max_leaves=10)


def load(text: str, trusted: bool = True) -> Any:
    tagged = Origin(path="/site/vars.yml").tag(text)
    return DataLoader().load(TrustedAsTemplate().tag(tagged) if trusted else tagged)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_stand_ins_are_hashable_and_equal_only_for_equal_json(one: Any, other: Any) -> None:
    if freeze(one) == freeze(other):
        assert plain(one) == plain(other)
    assert hash(freeze(one)) == hash(freeze(one))


def test_what_looks_alike_is_kept_apart() -> None:
    values = [1, True, "1", "true", None, "", [], {}, 1.0, ["1"], {"1": None}]
    assert len({freeze(v) for v in values}) == len(values)


def test_trust_is_part_of_a_text() -> None:
    assert freeze(load("a: '{{ b }}'")) != freeze(load("a: '{{ b }}'", trusted=False))


def test_tags_are_not() -> None:
    assert freeze(load("a: 1\nb: [x]")) == freeze(load("\n\n# other lines\na: 1\nb: [x]"))


def test_plain_values_are_json() -> None:
    value = plain(load("d: 2026-01-02\nt: 2026-01-02T03:04:05\n2: two\ntrue: yes\nf: 1.5\nn:\n"))
    assert value == {"d": "2026-01-02", "t": "2026-01-02T03:04:05", "2": "two", "true": True, "f": 1.5, "n": None}
    assert type(value["f"]) is float
    assert all(type(k) is str for k in value)


def test_where_a_value_is_written() -> None:
    data = load("a: 1\nb: true\nc:\n  - x\n  - d: null\n    e: {f: 2}\n")
    assert where(data["a"]) == ("/site/vars.yml", 1)
    assert where(data["b"]) == ("", 0)
    assert where_key(data, "b") == ("/site/vars.yml", 2)
    assert where_key(data, "c") == ("/site/vars.yml", 3)
    assert where_path(data, ("c", 1, "e", "f"), ("", 0)) == ("/site/vars.yml", 6)
    assert where_path(data, ("c", 1, "d"), ("", 0)) == ("/site/vars.yml", 5)
    assert where_path(data, ("c", 1, "missing"), ("", 0)) == ("/site/vars.yml", 5)
    assert where_path("{{ computed }}", ("a", "b"), ("/site/x.yml", 9)) == ("/site/x.yml", 9)
