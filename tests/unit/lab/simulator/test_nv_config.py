from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import machine, nv_config, state
from clusterctl_tools.mlxconfig import parse_configuration, refused_parameter

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = machine.THIS.hca_addresses[0]


@pytest.fixture(autouse=True)
def flash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nv_config, "FLASH", str(tmp_path / "flash.json"))
    monkeypatch.setattr(nv_config, "CURRENT", str(tmp_path / "in-force.json"))
    monkeypatch.setattr(nv_config, "BEFORE", str(tmp_path / "before.json"))
    monkeypatch.setattr(nv_config, "POWER_CUT_BEFORE", str(tmp_path / "cut-before"))
    monkeypatch.setattr(state, "POWER_CUT", str(tmp_path / "power-cut"))
    monkeypatch.setattr(state, "FAULTS", str(tmp_path / "faults.json"))
    nv_config.on_boot()


def query(capsys: pytest.CaptureFixture[str], *names: str) -> tuple[int, str]:
    rc = nv_config.main(["mlxconfig", "-d", ADDRESS, "-e", "query", *names])
    return rc, capsys.readouterr().out


def test_a_query_of_names_shows_only_these(capsys: pytest.CaptureFixture[str]) -> None:
    rc, text = query(capsys, "SRIOV_EN", "LINK_TYPE_P1")
    assert rc == 0
    assert list(parse_configuration(text)) == ["SRIOV_EN", "LINK_TYPE_P1"]
    assert "Array" not in text
    assert len(parse_configuration(query(capsys)[1])) > 5


@pytest.mark.parametrize(("name", "words"), [("MAX_ACC_OUT_READ", "doesn't support"), ("NO_SUCH_THING", "Failed to find Param")])
def test_one_name_that_the_adapter_lacks_or_hides_refuses_the_query(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    rc, text = query(capsys, "SRIOV_EN", name)
    assert rc == 3
    assert words in text
    assert refused_parameter(text) == name
    assert "SRIOV_EN" not in text


def test_a_parameter_with_the_fault_is_taken_after_a_loss_of_power_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fault = {"name": nv_config.COLD_FAULT, "device": machine.hca_name(0), "option": "SRIOV_EN", "boot_id": ""}
    (tmp_path / "faults.json").write_text(json.dumps([fault]))
    assert nv_config.main(["mlxconfig", "-d", ADDRESS, "-y", "set", "SRIOV_EN=0", "ATS_ENABLED=1"]) == 0

    def shown() -> list[tuple[str, str]]:
        capsys.readouterr()
        rows = parse_configuration(query(capsys, "SRIOV_EN", "ATS_ENABLED")[1])
        return [(row.current, row.next_boot) for row in rows.values()]

    for _ in range(2):
        nv_config.on_boot()
        assert shown() == [("True(1)", "False(0)"), ("True(1)", "True(1)")]
    (tmp_path / "power-cut").write_text("1\n")
    nv_config.on_boot()
    assert shown() == [("False(0)", "False(0)"), ("True(1)", "True(1)")]
    assert nv_config.main(["mlxconfig", "-d", ADDRESS, "-y", "set", "SRIOV_EN=1"]) == 0
    nv_config.on_boot()
    assert shown()[0] == ("False(0)", "True(1)")
