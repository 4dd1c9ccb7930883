from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl import config
from clusterctl.content import content_dir
from clusterctl.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLUSTERCTL_CONFIG", "CLUSTERCTL_STATE_DIR", "CLUSTERCTL_DATABASE_URL", "CLUSTERCTL_OPERATOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "clusterctl.yml").write_text("inventory: [inventory/common, /abs/site]\nstate_dir: state\noperator: ada\npool: slurm\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    return tmp_path


def test_the_nearest_file_above_counts_and_paths_start_there(site: Path) -> None:
    found = config.load(start=site / "deep" / "er")
    assert found.root == site
    assert [str(p) for p in found.inventory] == [str(site / "inventory/common"), "/abs/site"]
    assert found.state_dir == site / "state"
    assert (found.operator, found.pool) == ("ada", "slurm")
    assert found.store_url == f"sqlite:///{site}/state/clusterctl.db"


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    found = config.load(start=tmp_path)
    assert (found.inventory, found.state_dir, found.pool) == ((), tmp_path / ".clusterctl", "local")
    assert found.operator


def test_options_win_over_the_environment_over_the_file(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", "/from/env")
    monkeypatch.setenv("CLUSTERCTL_OPERATOR", "grace")
    monkeypatch.setenv("CLUSTERCTL_DATABASE_URL", "postgresql://db/x")
    found = config.load(start=site)
    assert (str(found.state_dir), found.operator, found.store_url) == ("/from/env", "grace", "postgresql://db/x")
    assert str(config.load(start=site, state_dir="/from/option").state_dir) == "/from/option"
    assert [str(p) for p in config.load(start=site, inventory=("mine", "/abs")).inventory] == [str(site / "mine"), "/abs"]


def test_the_packaged_common_inventory_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.yml").write_text('inventory: ["@common", site]\n')
    assert config.load(start=tmp_path).inventory == (content_dir() / "inventory" / "common", tmp_path / "site")


def test_a_named_file_wins(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.yml"
    other.write_text("operator: alan\n")
    monkeypatch.setenv("CLUSTERCTL_CONFIG", str(other))
    assert config.load(start=site).operator == "alan"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a list\n", "is not a mapping"),
        ("inventry: [x]\n", "unknown key 'inventry'"),
        ("inventory: common\n", "inventory: is not a list of paths"),
        ("inventory: [1]\n", "inventory: is not a list of paths"),
        ("a: [\n", "clusterctl.yml"),
    ],
)
def test_a_wrong_file_is_told_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "clusterctl.yml").write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        config.load(start=tmp_path)
    assert "clusterctl.yml" in str(caught.value)
    assert caught.value.hint


def test_an_empty_file_is_fine(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.yml").touch()
    assert config.load(start=tmp_path).inventory == ()


def test_a_named_file_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERCTL_CONFIG", str(tmp_path / "none.yml"))
    with pytest.raises(ConfigError, match=r"none\.yml: No such file"):
        config.load(start=tmp_path)
