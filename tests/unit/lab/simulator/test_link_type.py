from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import link_type, machine, nv_config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def flash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nv_config, "FLASH", str(tmp_path / "flash.json"))
    monkeypatch.setattr(nv_config, "CURRENT", str(tmp_path / "in-force.json"))
    monkeypatch.setattr(link_type, "RUN", str(tmp_path))


def boot() -> bool:
    nv_config.on_boot()
    link_type.on_boot()
    return link_type.is_ethernet()


def test_the_link_type_follows_the_flash_at_the_next_boot() -> None:
    assert not boot()
    for address in machine.THIS.hca_addresses:
        assert nv_config.main(["mlxconfig", "-d", address, "-y", "set", "LINK_TYPE_P1=ETH"]) == 0
    assert not link_type.is_ethernet(), "changed before the reboot"
    assert boot()


def test_the_link_type_changes_only_when_all_adapters_are_set() -> None:
    nv_config.main(["mlxconfig", "-d", machine.THIS.hca_addresses[0], "-y", "set", "LINK_TYPE_P1=ETH"])
    assert not boot()
