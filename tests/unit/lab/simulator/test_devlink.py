from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clusterctl_lab.simulator import devlink, machine, state, sysfs_rdma
from clusterctl_tools.devlink import INFO, parse_stored_firmware
from support.lab_machine import lab_machine

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def answer(capsys: pytest.CaptureFixture[str]) -> str:
    assert devlink.main([*INFO]) == 0
    return capsys.readouterr().out


def test_every_adapter_tells_the_firmware_of_sysfs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab_machine(tmp_path, monkeypatch).load(mlx5_core="")
    text = answer(capsys)
    assert parse_stored_firmware(text) == {address: machine.THIS.hca_firmware for _, address in sysfs_rdma.devices()}
    # Keys as in the driver's source (torvalds/linux, mlx5/core/devlink.c).
    first = json.loads(text)["info"][f"pci/{machine.THIS.hca_addresses[0]}"]
    assert list(first) == ["driver", "versions"]
    assert {kind: list(versions) for kind, versions in first["versions"].items()} == {
        "fixed": ["fw.psid"],
        "running": ["fw.version", "fw"],
        "stored": ["fw.version", "fw"],
    }


def test_a_card_that_left_the_bus_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab_machine(tmp_path, monkeypatch).load(mlx5_core="")
    state.set_flag("hca-dead", machine.THIS.hca_addresses[1])
    assert machine.THIS.hca_addresses[1] not in parse_stored_firmware(answer(capsys))


def test_nothing_is_listed_without_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lab_machine(tmp_path, monkeypatch)
    assert json.loads(answer(capsys)) == {"info": {}}


def test_other_questions_are_not_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert devlink.main(["devlink", "dev", "show"]) == 1
    assert "not simulated" in capsys.readouterr().err
