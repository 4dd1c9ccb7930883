from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.bmc import bios

if TYPE_CHECKING:
    from pathlib import Path

CHANGES = st.dictionaries(st.sampled_from(sorted(bios.attribute_registry())), st.integers(0, 1)).map(
    lambda chosen: {name: bios.attribute_registry()[name].choices[i] for name, i in chosen.items()}
)


def test_every_default_is_an_accepted_value() -> None:
    assert all(a.default in a.choices for a in bios.attribute_registry().values())


def test_a_change_is_pending_until_the_next_start(tmp_path: Path) -> None:
    staged = bios.load_bios(tmp_path / "bmc.json").stage({"LogicalProc": "Disabled"}, now=100)
    assert staged.current["LogicalProc"] == "Enabled"
    assert staged.after_start(started_at=99) is staged
    done = staged.after_start(started_at=101)
    assert (done.current["LogicalProc"], done.pending) == ("Disabled", {})


@pytest.mark.parametrize(("name", "value"), [("NoSuchKnob", "1"), ("LogicalProc", "Banana"), ("LogicalProc", "")])
def test_a_change_with_an_unknown_attribute_or_value_is_refused_as_a_whole(tmp_path: Path, name: str, value: str) -> None:
    fresh = bios.load_bios(tmp_path / "bmc.json")
    with pytest.raises(bios.BiosSettingError, match=name):
        fresh.stage({"ProcC1E": "Disabled", name: value}, now=1)
    assert fresh.pending == {}


def test_settings_are_stored_in_their_file(tmp_path: Path) -> None:
    staged = bios.load_bios(tmp_path / "bmc.json").stage({"ProcC1E": "Disabled"}, now=5)
    bios.save_bios(tmp_path / "bmc.json", staged)
    assert bios.load_bios(tmp_path / "bmc.json") == staged
    assert [p.name for p in tmp_path.iterdir()] == ["bmc.json"]


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
