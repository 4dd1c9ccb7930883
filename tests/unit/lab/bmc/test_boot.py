"""What a lab node boots from: as its BMC says and as the node does, which must agree at every start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_lab.bmc.bios import BiosSettingError, factory_bios
from clusterctl_lab.bmc.boot import BootSettings
from clusterctl_lab.bmc.settings import Settings, load_settings, save_settings
from clusterctl_lab.simulator import boot_source, state

if TYPE_CHECKING:
    from pathlib import Path

NETWORK_FIRST = ["Boot0001", "Boot0002", "Boot0003", "Boot0004"]
DISK_FIRST = list(boot_source.DELIVERED)
STEPS = st.lists(
    st.sampled_from(
        ["network first", "disk first", "disk once", "network once", "disk always", "network always", "clear", "start", "start unseen"]
    ),
    max_size=12,
)


@pytest.mark.parametrize("order", [[], ["Boot0001"], [*NETWORK_FIRST, "Boot0001"], ["Boot0009", *NETWORK_FIRST[1:]]])
def test_an_order_lists_each_option_once(order: list[str]) -> None:
    with pytest.raises(BiosSettingError):
        BootSettings().with_order(order, 1)


@pytest.mark.parametrize(("target", "enabled"), [("Floppy", "Once"), ("Hdd", "Always"), ("None", "None")])
def test_other_overrides_are_refused(target: str, enabled: str) -> None:
    with pytest.raises(BiosSettingError):
        BootSettings().with_override(target, enabled, 1)


def test_settings_are_stored_in_their_file(tmp_path: Path) -> None:
    changed = Settings(
        factory_bios().stage({"ProcC1E": "Disabled"}, now=5), BootSettings().with_order(NETWORK_FIRST, 5).with_override("Hdd", "Once", 6)
    )
    save_settings(tmp_path / "bmc.json", changed)
    assert load_settings(tmp_path / "bmc.json") == changed
    assert [p.name for p in tmp_path.iterdir()] == ["bmc.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("boot")


@given(steps=STEPS)
def test_an_override_lasts_as_long_as_it_was_set_for_and_node_and_bmc_agree(folder: Path, steps: list[str]) -> None:
    file = folder / "bmc.json"
    (folder / "before").unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boot_source, "BMC", str(file))
        patch.setattr(boot_source, "OVERRIDE_BEFORE", str(folder / "before"))
        patch.setattr(boot_source, "NETWORK_WAIT_S", 0)
        patch.setattr(state, "RUN", str(folder))
        order, override, stays, now = "disk", "", False, BootSettings()
        for time, step in enumerate(steps, start=1):
            if step.endswith("first"):
                order = step.split()[0]
                now = now.with_order(NETWORK_FIRST if order == "network" else DISK_FIRST, time)
            elif step.endswith(("once", "always")):
                override, stays = step.split()[0], step.endswith("always")
                now = now.with_override("Pxe" if override == "network" else "Hdd", "Continuous" if stays else "Once", time)
                assert now.enabled == ("Continuous" if stays else "Once")
            elif step == "clear":
                override, stays = "", False
                now = now.with_override("None", "Disabled", time)
            else:
                expected, override = override or order, override if stays else ""
                assert now.source(time) == expected
                if step == "start":
                    now = now.after_start(time)
                save_settings(file, Settings(factory_bios(), now))
                boot_source.on_boot()
                assert state.flag(boot_source.FLAG) == expected
                now = now.after_start(time)
