from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.bmc import bios

CHANGES = st.dictionaries(st.sampled_from(sorted(bios.attribute_registry())), st.integers(0, 1)).map(
    lambda chosen: {name: bios.attribute_registry()[name].choices[i] for name, i in chosen.items()}
)


def test_every_default_is_an_accepted_value() -> None:
    assert all(a.default in a.choices for a in bios.attribute_registry().values())


def test_a_change_is_pending_until_the_next_start() -> None:
    staged = bios.factory_bios().stage({"LogicalProc": "Disabled"}, now=100)
    assert staged.current["LogicalProc"] == "Enabled"
    assert staged.after_start(started_at=99) is staged
    done = staged.after_start(started_at=101)
    assert (done.current["LogicalProc"], done.pending) == ("Disabled", {})


@pytest.mark.parametrize(("name", "value"), [("NoSuchKnob", "1"), ("LogicalProc", "Banana"), ("LogicalProc", "")])
def test_a_change_with_an_unknown_attribute_or_value_is_refused_as_a_whole(name: str, value: str) -> None:
    fresh = bios.factory_bios()
    with pytest.raises(bios.BiosSettingError, match=name):
        fresh.stage({"ProcC1E": "Disabled", name: value}, now=1)
    assert fresh.pending == {}


@given(steps=st.lists(st.one_of(CHANGES, st.just("start"))))
def test_current_values_are_the_changes_before_the_last_start(steps: list[dict[str, str] | str]) -> None:
    now = bios.Bios({name: a.default for name, a in bios.attribute_registry().items()})
    expected, pending = dict(now.current), dict[str, str]()
    for time, step in enumerate(steps, start=1):
        if isinstance(step, dict):
            now = now.stage(step, time)
            pending |= step
        else:
            now = now.after_start(time)
            expected |= pending
            pending = {}
        assert now.current == expected
        assert now.pending == pending
