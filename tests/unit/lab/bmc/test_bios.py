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


def test_every_default_is_a_choice() -> None:
    assert all(a.default in a.choices for a in bios.attribute_registry().values())


def test_a_change_waits_for_a_start(tmp_path: Path) -> None:
    asked = bios.load_bios(tmp_path / "bmc.json").ask({"LogicalProc": "Disabled"}, now=100)
    assert asked.current["LogicalProc"] == "Enabled"
    assert asked.settle(started_at=99) is asked
    done = asked.settle(started_at=101)
    assert (done.current["LogicalProc"], done.pending) == ("Disabled", {})


@pytest.mark.parametrize(("name", "value"), [("NoSuchKnob", "1"), ("LogicalProc", "Banana"), ("LogicalProc", "")])
def test_what_the_bios_lacks_is_refused_as_a_whole(tmp_path: Path, name: str, value: str) -> None:
    fresh = bios.load_bios(tmp_path / "bmc.json")
    with pytest.raises(bios.BiosSettingError, match=name):
        fresh.ask({"ProcC1E": "Disabled", name: value}, now=1)
    assert fresh.pending == {}


def test_settings_survive_in_their_file(tmp_path: Path) -> None:
    asked = bios.load_bios(tmp_path / "bmc.json").ask({"ProcC1E": "Disabled"}, now=5)
    bios.save_bios(tmp_path / "bmc.json", asked)
    assert bios.load_bios(tmp_path / "bmc.json") == asked
    assert [p.name for p in tmp_path.iterdir()] == ["bmc.json"]


@given(steps=st.lists(st.one_of(CHANGES, st.just("start"))))
def test_current_is_what_was_asked_before_the_last_start(steps: list[dict[str, str] | str]) -> None:
    now = bios.Bios({name: a.default for name, a in bios.attribute_registry().items()})
    expected, waiting = dict(now.current), dict[str, str]()
    for time, step in enumerate(steps, start=1):
        if isinstance(step, dict):
            now = now.ask(step, time)
            waiting |= step
        else:
            now = now.settle(time)
            expected |= waiting
            waiting = {}
        assert now.current == expected
        assert now.pending == waiting
